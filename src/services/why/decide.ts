import { GwError } from '../../base/catalogue/wire.ts'
import type { Clock } from '../../base/clock.ts'
import {
  checkBan,
  checkListed,
  checkMaintenance,
  checkModels,
  checkPriced,
  checkTenant,
  isVisible,
} from '../../limits/authorise.ts'
import { type Estimate, estimate, PRODUCES } from '../../limits/estimate.ts'
import { checkKey } from '../../limits/identify.ts'
import type { Limiter } from '../../limits/limiter.ts'
import { type LimitReport, rejectionOf } from '../../limits/limits.ts'
import type { FixedCheck, LimitCheck } from '../../schema/api/why.ts'
import { INFERENCE_PATHS, type InferencePath } from '../../schema/paths.ts'
import { priceAt } from '../../snapshot/price-at.ts'
import { servedPaths, targetsAt } from '../../snapshot/served-paths.ts'
import type { KeyEntry, PublicationEntry, Snapshot, Target } from '../../snapshot/types.ts'
import type { NodeTargets } from '../../upstream/nodes.ts'
import { boundTo, type Candidate, inspect, noEndpointError } from '../../upstream/routing/candidates.ts'
import type { HealthRegistry } from '../../upstream/routing/health-registry.ts'

/** The state that decides a call: of a running gateway, or constructed. */
export interface View {
  readonly snapshot: Snapshot
  readonly limiter: Pick<Limiter, 'inspect' | 'refresh'>
  readonly health: HealthRegistry
  readonly clock: Clock
  readonly nodes: NodeTargets
  /** False: bills cannot be written. */
  readonly ledgerHealthy: boolean
}

/** The key of a call, and the error if it is invalid. */
export interface Caller {
  /** Absent if the secret belongs to no key. */
  readonly entry?: KeyEntry
  readonly rejection?: GwError
}

/** The call to explain. */
export interface CallOptions {
  readonly model: string
  /** Absent: the first path at which the model is served. */
  readonly path?: InferencePath
  readonly inputTokens: number
  /** Absent: the call sets no limit. */
  readonly maxTokens?: number
}

/** The result of one check. */
export type CheckResult = CheckSubject & {
  readonly verdict: 'passes' | 'rejects' | 'would_reject' | 'not_reached' | 'assumed'
  readonly rejection?: GwError
}

type CheckSubject =
  | { readonly check: FixedCheck; readonly report?: undefined }
  | { readonly check: LimitCheck; readonly report: LimitReport }

/** The outcome of all checks for a call. */
export interface Decision {
  readonly caller: Caller
  readonly publication: PublicationEntry | undefined
  readonly callOptions: CallOptions
  readonly path: InferencePath
  /** `GET /v1/models` shows the model to the key. */
  readonly visible: boolean
  readonly steps: readonly CheckResult[]
  /** The first check that rejects. */
  readonly rejected?: CheckResult & { readonly rejection: GwError }
  /** The amount to hold. Absent if the call is free of charge, or its key or publication is unknown. */
  readonly estimate?: Estimate
  readonly candidates: readonly Candidate[]
}

/** Bytes of English text per token, as the reservation counts them (spec/money.md §1). */
export const BYTES_PER_TOKEN = 3

/**
 * Runs the checks of a call (see `serveInference`) in their order, without reserving anything. Checks after the first
 * rejection run, too.
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
  const bound = publication ? view.nodes.expand(targetsAt(publication, path)) : []
  run.run('protocol', publication && (() => void boundTo(publication, path, view.nodes)))
  if (bound.some(({ endpoint }) => endpoint.nodes)) run.run('nodes', () => checkNodes(bound, view))
  const candidates = inspect(bound, view)
  const usable = candidates.some(({ obstacle }) => obstacle === undefined)
  const unusable = () => {
    if (!usable) throw noEndpointError(bound, view)
  }
  run.run('endpoints', bound.length > 0 ? unusable : undefined)
  if (path.dialect && publication?.requirePrice) {
    run.run('price', () => {
      const { amountNano = 0n } = estimateOf(publication, callOptions, path, clock) ?? {}
      checkPriced(publication, priceAt(publication, clock.nowMs())?.price, amountNano)
    })
  }
  const permit = key && publication && { key, publication }
  const estimated = permit && estimateOf(permit.publication, callOptions, path, clock)
  if (permit) {
    const { publication } = permit
    const request = estimated && { publication, estimate: estimated }
    for (const report of limiter.inspect(permit.key, request)) {
      const { rejection, ...passing } = report
      // Nothing loads the spending of a key without a secret: it is unknown, and rejects nothing.
      const isUnknown = caller.rejection !== undefined && rejection?.code === 'unavailable'
      run.read(isUnknown ? passing : report)
    }
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

/**
 * Asks what other gateways use of the limits of a call. Must be awaited before {@link decide}, which takes no time.
 *
 * @returns what is unknown if the store does not answer.
 */
export async function refreshLimits(
  { entry: key }: Caller,
  callOptions: CallOptions,
  { snapshot, limiter, clock }: View,
): Promise<string | undefined> {
  const publication = snapshot.publications.get(callOptions.model)
  if (!key || !publication) return undefined
  const estimated = estimateOf(publication, callOptions, callOptions.path ?? pathOf(publication), clock)
  try {
    await limiter.refresh(key, estimated && { publication, estimate: estimated })
    return undefined
  } catch (error) {
    if (!(error instanceof GwError)) throw error
    return 'What other gateways use of the limits: the store does not answer; as it was known last.'
  }
}

/** Rejects only a model that is on nodes alone, none of which is connected: other endpoints may serve it. */
function checkNodes(bound: readonly Target[], view: View): void {
  if (bound.every(({ endpoint }) => endpoint.nodes && endpoint.node === undefined))
    throw noEndpointError(bound, view)
}

/** The first path at which a model is served; the first of all if it is served nowhere. */
export function pathOf(publication: PublicationEntry | undefined): InferencePath {
  const [first] = publication ? servedPaths(publication) : []
  return first ?? (INFERENCE_PATHS[0] as InferencePath)
}

/** Whether `GET /v1/models` shows the model: its own checks must not reject the key. */
function isShown({ entry }: Caller, publication: PublicationEntry | undefined, run: CheckRun): boolean {
  if (!entry || !publication || !isVisible(entry, publication)) return false
  const { rejected } = run
  return !(rejected && ['key', 'maintenance', 'tenant'].includes(rejected.check))
}

/** The reservation of a call. Undefined if it is free of charge. */
export function estimateOf(
  publication: PublicationEntry,
  { inputTokens, maxTokens }: CallOptions,
  { dialect, fields }: InferencePath,
  clock: Clock,
): Estimate | undefined {
  if (!dialect) return undefined
  const content = { textBytes: inputTokens * BYTES_PER_TOKEN, media: { bound: 0, likely: 0 } }
  const { maxInputTokens, maxOutputTokens, outputCap } = publication
  const price = priceAt(publication, clock.nowMs())?.price
  return estimate(
    {
      content,
      produces: PRODUCES[dialect],
      outputLimit: fields.outputLimits && maxTokens,
      isCapped: outputCap !== 'none',
    },
    { price, maxInputTokens, maxOutputTokens },
  )
}

/** Collects check results: the first rejection decides; later checks count as not reached. */
class CheckRun {
  readonly steps: CheckResult[] = []
  rejected: (CheckResult & { readonly rejection: GwError }) | undefined

  /** @param test Throws to reject. Absent: the check has no subject. */
  run(check: FixedCheck, test: (() => void) | undefined): void {
    if (!test) this.steps.push({ check, verdict: 'not_reached' })
    else this.#add({ check }, rejectionOf(test))
  }

  read(report: LimitReport): void {
    this.#add({ check: `${report.of}_${report.info.name}`, report }, report.rejection)
  }

  skip(check: FixedCheck): void {
    this.steps.push({ check, verdict: this.rejected ? 'not_reached' : 'assumed' })
  }

  #add(subject: CheckSubject, rejection: GwError | undefined): void {
    if (rejection && subject.report?.isShadow)
      this.steps.push({ ...subject, verdict: 'would_reject', rejection })
    else if (!rejection) this.steps.push({ ...subject, verdict: this.rejected ? 'not_reached' : 'passes' })
    else if (this.rejected) this.steps.push({ ...subject, verdict: 'would_reject', rejection })
    else {
      this.rejected = { ...subject, verdict: 'rejects', rejection }
      this.steps.push(this.rejected)
    }
  }
}
