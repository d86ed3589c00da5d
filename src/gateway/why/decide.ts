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
import type { LimitReport } from '../../admission/limits.ts'
import { GwError } from '../../base/catalogue/wire.ts'
import type { Clock } from '../../base/clock.ts'
import { boundTo, type Candidate, inspect, noEndpointError } from '../../routing/candidates.ts'
import type { HealthRegistry } from '../../routing/health-registry.ts'
import type { CHECKS } from '../../schema/api/why.ts'
import { priceAt } from '../../snapshot/price-at.ts'
import type { KeyEntry, PublicationEntry, Snapshot } from '../../snapshot/types.ts'
import { PRODUCES } from '../account.ts'
import { INFERENCE_PATHS, type InferencePath } from '../endpoints.ts'

export type CheckName = (typeof CHECKS)[number]

/** What a call is decided by: of a gateway that serves, or made for the purpose. */
export interface View {
  readonly snapshot: Snapshot
  readonly limiter: Pick<Limiter, 'inspect'>
  readonly health: HealthRegistry
  readonly clock: Clock
  /** False: bills cannot be written. */
  readonly ledgerHealthy: boolean
}

/** Who asks: a key, and why it opens nothing where it does not. */
export interface Caller {
  /** Absent where the secret is nobody's. */
  readonly entry?: KeyEntry
  readonly rejection?: GwError
}

/** The call that is asked about. */
export interface CallOptions {
  readonly model: string
  /** Absent: the first that the model is served at. */
  readonly path?: InferencePath
  readonly inputTokens: number
  /** Absent: the call asks for no limit. */
  readonly maxTokens?: number
}

/** One check, as the call meets it. */
export interface CheckResult {
  readonly check: CheckName
  readonly verdict: 'passes' | 'rejects' | 'would_reject' | 'not_reached' | 'assumed'
  readonly rejection?: GwError
  /** Of a limit. */
  readonly report?: LimitReport
}

/** What would become of a call. */
export interface Decision {
  readonly caller: Caller
  readonly publication: PublicationEntry | undefined
  readonly callOptions: CallOptions
  readonly path: InferencePath
  /** `GET /v1/models` shows the model to the key. */
  readonly visible: boolean
  readonly steps: readonly CheckResult[]
  /** The check that answers, where one rejects. */
  readonly rejected?: CheckResult & { readonly rejection: GwError }
  /** What would be held. Absent where the call costs nothing, or nothing can be said of it. */
  readonly estimate?: Estimate
  readonly candidates: readonly Candidate[]
}

/** What a token of English text weighs at the most: so many bytes are held for as so many tokens (spec/money.md §1). */
export const BYTES_PER_TOKEN = 3

/**
 * What would become of a call, by the checks that a call itself passes (see `serveInference`), in their order. All of
 * them are asked, also behind the first that rejects; none takes anything.
 *
 *     key ──▶ maintenance, tenant ──▶ body ──▶ ban, listing, models ──▶ protocol, endpoints, price ──▶ limits ──▶ ledger
 */
export function decide(caller: Caller, callOptions: CallOptions, view: View): Decision {
  const { snapshot, clock, limiter } = view
  const { entry: key } = caller
  const publication = snapshot.publications.get(callOptions.model)
  const path = callOptions.path ?? pathOf(publication)
  const run = new CheckRun()
  run.run('key', () => {
    if (caller.rejection) throw caller.rejection
    if (key) checkKey(key, clock.nowMs())
  })
  run.run('maintenance', () => checkMaintenance(snapshot))
  run.run('tenant', key && (() => checkTenant(key)))
  run.skip('body')
  run.run('ban', key && (() => checkBan(key, publication, callOptions.model)))
  run.run('listing', () => void checkListed(publication, callOptions.model))
  run.run('models', key && (() => checkModels(key, callOptions.model)))
  const bound = publication?.targets[path.protocol] ?? []
  run.run('protocol', publication && (() => void boundTo(publication, path.protocol)))
  const candidates = inspect(bound, view)
  const usable = candidates.some(({ obstacle }) => obstacle === undefined)
  const unusable = () => {
    if (!usable) throw noEndpointError(bound, view)
  }
  run.run('endpoints', bound.length > 0 ? unusable : undefined)
  if (path.dialect && publication?.requirePrice) {
    run.run('price', () => checkPriced(publication, priceAt(publication, clock.nowMs()) !== undefined))
  }
  const permit = key && publication && { key, publication }
  const estimated = permit && estimateOf(permit.publication, callOptions, path, clock)
  if (permit) {
    const { publication } = permit
    const request = estimated && { publication, estimate: estimated }
    for (const report of limiter.inspect(permit.key, request)) run.read(report)
  }
  if (path.dialect) {
    run.run('ledger', () => {
      if (!view.ledgerHealthy) throw new GwError('unavailable')
    })
  }
  return {
    caller,
    publication,
    callOptions,
    path,
    visible: isShown(caller, publication, run),
    steps: run.steps,
    ...(run.rejected && { rejected: run.rejected }),
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

/** Nothing of the list is shown to whom its own checks reject. */
function isShown({ entry }: Caller, publication: PublicationEntry | undefined, run: CheckRun): boolean {
  if (!entry || !publication || !isVisible(entry, publication)) return false
  const { rejected } = run
  return !(rejected && ['key', 'maintenance', 'tenant'].includes(rejected.check))
}

/** What a call reserves. Undefined where it costs nothing. */
export function estimateOf(
  publication: PublicationEntry,
  { inputTokens, maxTokens }: CallOptions,
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

/** The checks in their order: the first that rejects answers, those behind it are not reached. */
class CheckRun {
  readonly steps: CheckResult[] = []
  rejected: (CheckResult & { readonly rejection: GwError }) | undefined

  /** @param ask throws where it rejects. Absent: there is nothing that it could be asked of. */
  run(check: CheckName, ask: (() => void) | undefined): void {
    if (!ask) this.steps.push({ check, verdict: 'not_reached' })
    else this.#add(check, rejectionOf(ask))
  }

  read(report: LimitReport): void {
    this.#add(`${report.of}_${report.name}` as CheckName, report.rejection, report)
  }

  skip(check: CheckName): void {
    this.steps.push({ check, verdict: this.rejected ? 'not_reached' : 'assumed' })
  }

  #add(check: CheckName, rejection: GwError | undefined, report?: LimitReport): void {
    const more = report && { report }
    if (!rejection) {
      this.steps.push({ check, verdict: this.rejected ? 'not_reached' : 'passes', ...more })
    } else if (this.rejected) this.steps.push({ check, verdict: 'would_reject', rejection, ...more })
    else {
      this.rejected = { check, verdict: 'rejects', rejection, ...more }
      this.steps.push(this.rejected)
    }
  }
}

function rejectionOf(ask: () => void): GwError | undefined {
  try {
    ask()
    return undefined
  } catch (error) {
    if (error instanceof GwError) return error
    throw error
  }
}
