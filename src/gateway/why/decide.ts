import {
  checkBan,
  checkListed,
  checkMaintenance,
  checkModels,
  checkPriced,
  checkTenant,
  isVisible,
} from '../../admission/authorise.ts'
import { type Estimate, estimate } from '../../admission/estimate.ts'
import { checkKey } from '../../admission/identify.ts'
import type { Limiter } from '../../admission/limiter.ts'
import type { Reading } from '../../admission/limits.ts'
import { GwError } from '../../base/catalogue/wire.ts'
import type { Clock } from '../../base/clock.ts'
import { boundTo, type Candidate, nobody, survey } from '../../routing/candidates.ts'
import type { HealthBook } from '../../routing/health-book.ts'
import type { CHECKS } from '../../schema/api/why.ts'
import { priceAt } from '../../snapshot/price-at.ts'
import type { KeyEntry, PublicationEntry, Snapshot } from '../../snapshot/types.ts'
import { PRODUCES } from '../account.ts'
import { INFERENCE_PATHS, type InferencePath } from '../endpoints.ts'

export type CheckName = (typeof CHECKS)[number]

/** What a call is decided by: of a gateway that serves, or made for the purpose. */
export interface View {
  readonly snapshot: Snapshot
  readonly limiter: Pick<Limiter, 'survey'>
  readonly health: HealthBook
  readonly clock: Clock
  /** False: bills cannot be written. */
  readonly ledgerHealthy: boolean
}

/** Who asks: a key, and why it opens nothing where it does not. */
export interface Bearer {
  /** Absent where the secret is nobody's. */
  readonly entry?: KeyEntry
  readonly refusal?: GwError
}

/** The call that is asked about. */
export interface Wish {
  readonly model: string
  /** Absent: the first that the model is served at. */
  readonly path?: InferencePath
  readonly inputTokens: number
  /** Absent: the call asks for no limit. */
  readonly maxTokens?: number
}

/** One check, as the call meets it. */
export interface Step {
  readonly check: CheckName
  readonly verdict: 'passes' | 'refuses' | 'would_refuse' | 'not_reached' | 'assumed'
  readonly refusal?: GwError
  /** Of a limit. */
  readonly reading?: Reading
}

/** What would become of a call. */
export interface Decision {
  readonly bearer: Bearer
  readonly publication: PublicationEntry | undefined
  readonly wish: Wish
  readonly path: InferencePath
  /** `GET /v1/models` shows the model to the key. */
  readonly visible: boolean
  readonly steps: readonly Step[]
  /** The check that answers, where one refuses. */
  readonly refused?: Step & { readonly refusal: GwError }
  /** What would be held. Absent where the call costs nothing, or nothing can be said of it. */
  readonly estimate?: Estimate
  readonly candidates: readonly Candidate[]
}

/** What a token of English text weighs at the most: so many bytes are held for as so many tokens (MONEY, "Size"). */
export const BYTES_PER_TOKEN = 3

/**
 * What would become of a call, by the checks that a call itself passes (see `serveInference`), in their order. All of
 * them are asked, also behind the first that refuses; none takes anything.
 *
 *     key ──▶ maintenance, tenant ──▶ body ──▶ ban, listing, models ──▶ protocol, endpoints, price ──▶ limits ──▶ ledger
 */
export function decide(bearer: Bearer, wish: Wish, view: View): Decision {
  const { snapshot, clock, limiter } = view
  const { entry: key } = bearer
  const publication = snapshot.publications.get(wish.model)
  const path = wish.path ?? pathOf(publication)
  const walk = new Walk()
  walk.meet('key', () => {
    if (bearer.refusal) throw bearer.refusal
    if (key) checkKey(key, clock.nowMs())
  })
  walk.meet('maintenance', () => checkMaintenance(snapshot))
  walk.meet('tenant', key && (() => checkTenant(key)))
  walk.assume('body')
  walk.meet('ban', key && (() => checkBan(key, publication, wish.model)))
  walk.meet('listing', () => void checkListed(publication, wish.model))
  walk.meet('models', key && (() => checkModels(key, wish.model)))
  const bound = publication?.targets[path.protocol] ?? []
  walk.meet('protocol', publication && (() => void boundTo(publication, path.protocol)))
  const candidates = survey(bound, view)
  const usable = candidates.some(({ obstacle }) => obstacle === undefined)
  const unusable = () => {
    if (!usable) throw nobody(bound, view)
  }
  walk.meet('endpoints', bound.length > 0 ? unusable : undefined)
  if (path.dialect && publication?.requirePrice) {
    walk.meet('price', () => checkPriced(publication, priceAt(publication, clock.nowMs()) !== undefined))
  }
  const permit = key && publication && { key, publication }
  const estimated = permit && estimateOf(permit.publication, wish, path, clock)
  if (permit) {
    const { publication } = permit
    const request = estimated && { publication, estimate: estimated }
    for (const reading of limiter.survey(permit.key, request)) walk.read(reading)
  }
  if (path.dialect) {
    walk.meet('ledger', () => {
      if (!view.ledgerHealthy) throw new GwError('unavailable')
    })
  }
  return {
    bearer,
    publication,
    wish,
    path,
    visible: isShown(bearer, publication, walk),
    steps: walk.steps,
    ...(walk.refused && { refused: walk.refused }),
    ...(estimated && { estimate: estimated }),
    candidates,
  }
}

/** The first path that a model is served at: OpenAI's where it is served at both. */
export function pathOf(publication: PublicationEntry | undefined): InferencePath {
  const isAnthropic = publication?.targets.openai.length === 0 && publication.targets.anthropic.length > 0
  const wanted = isAnthropic ? 'anthropic' : 'openai'
  return INFERENCE_PATHS.find(({ protocol }) => protocol === wanted) as InferencePath
}

/** Nothing of the list is shown to whom its own checks refuse. */
function isShown({ entry }: Bearer, publication: PublicationEntry | undefined, walk: Walk): boolean {
  if (!entry || !publication || !isVisible(entry, publication)) return false
  const { refused } = walk
  return !(refused && ['key', 'maintenance', 'tenant'].includes(refused.check))
}

/** What a call reserves. Undefined where it costs nothing. */
export function estimateOf(
  publication: PublicationEntry,
  { inputTokens, maxTokens }: Wish,
  { dialect }: InferencePath,
  clock: Clock,
): Estimate | undefined {
  if (!dialect) return undefined
  const content = { textBytes: inputTokens * BYTES_PER_TOKEN, media: { bound: 0, likely: 0 } }
  const { maxInputTokens, maxOutputTokens, outputCap } = publication
  const price = priceAt(publication, clock.nowMs())?.price
  return estimate(
    { content, produces: PRODUCES[dialect], maxTokens, isCapped: outputCap !== 'none' },
    { price, maxInputTokens, maxOutputTokens },
  )
}

/** The checks in their order: the first that refuses answers, those behind it are not reached. */
class Walk {
  readonly steps: Step[] = []
  refused: (Step & { readonly refusal: GwError }) | undefined

  /** @param ask throws where it refuses. Absent: there is nothing that it could be asked of. */
  meet(check: CheckName, ask: (() => void) | undefined): void {
    if (!ask) this.steps.push({ check, verdict: 'not_reached' })
    else this.#add(check, refusalOf(ask))
  }

  read(reading: Reading): void {
    this.#add(`${reading.of}_${reading.name}` as CheckName, reading.refusal, reading)
  }

  assume(check: CheckName): void {
    this.steps.push({ check, verdict: this.refused ? 'not_reached' : 'assumed' })
  }

  #add(check: CheckName, refusal: GwError | undefined, reading?: Reading): void {
    const more = reading && { reading }
    if (!refusal) {
      this.steps.push({ check, verdict: this.refused ? 'not_reached' : 'passes', ...more })
    } else if (this.refused) this.steps.push({ check, verdict: 'would_refuse', refusal, ...more })
    else {
      this.refused = { check, verdict: 'refuses', refusal, ...more }
      this.steps.push(this.refused)
    }
  }
}

function refusalOf(ask: () => void): GwError | undefined {
  try {
    ask()
    return undefined
  } catch (error) {
    if (error instanceof GwError) return error
    throw error
  }
}
