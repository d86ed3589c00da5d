import { keyDigest } from '../base/api-key.ts'
import { CommandError } from '../base/catalogue/command.ts'
import type { GwError } from '../base/catalogue/wire.ts'
import type { Problem, Tree } from '../config/types.ts'
import { isVisible } from '../limits/authorise.ts'
import type { Estimate } from '../limits/estimate.ts'
import type { KeyEntry, PublicationEntry } from '../snapshot/types.ts'
import type { Store } from '../store/types.ts'
import type { AppPorts } from './context.ts'
import { BYTES_PER_TOKEN, estimateOf, pathOf, type View } from './why/decide.ts'
import { compiledFiles, freshView } from './why/from-files.ts'
import { contextOfState } from './why/from-store.ts'

/** A model, and the reservation of a very short chat with it without `max_tokens`. */
interface FirstCall {
  readonly publication: PublicationEntry
  readonly estimate: Estimate
}

/** A call that a strict limit would reject: one that does not recover with time, or not soon. */
interface RejectedFirstCall {
  readonly model: string
  readonly rejection: GwError
}

/**
 * A warning (limit_below_first_call) for each key of the files with a quota or budget smaller than the reservation of a first call.
 * Empty if the files cannot be compiled: an apply reports the reason.
 */
export async function firstCallWarnings(
  tree: Tree,
  ports: Pick<AppPorts, 'clock' | 'random'>,
): Promise<readonly Problem[]> {
  const bounded = tree.resources.filter(
    ({ kind, spec }) => kind === 'key' && (spec['quota'] !== undefined || spec['budget'] !== undefined),
  )
  if (bounded.length === 0) return []
  const compiled = await compiledFiles(tree, ports)
  if (!compiled.ok) return []
  const view = freshView(compiled.snapshot, ports.clock)
  const calls = firstCalls(view)
  const mostTokens = Math.max(0, ...calls.map(({ estimate }) => estimate.inputTokens + estimate.outputTokens))
  const dearest = calls.reduce((most, { estimate: { amountNano } }) => {
    return amountNano > most ? amountNano : most
  }, 0n)
  const isAmple = ({ quotaTokens, budget }: KeyEntry) =>
    (quotaTokens ?? mostTokens) >= mostTokens && (budget?.amountNano ?? dearest) >= dearest
  const entries = new Map([...compiled.snapshot.keys.values()].map(entry => [entry.name, entry]))
  return bounded.flatMap(({ name, place }) => {
    const entry = entries.get(name)
    const rejected = entry && !isAmple(entry) ? rejectedFirstCall(entry, calls, view) : undefined
    if (rejected === undefined) return []
    const message = `keys.${name}: ${rejectionText(rejected)}`
    return { code: 'limit_below_first_call', severity: 'warning', message, place } as const
  })
}

/**
 * The same for one key of a store, with its spending and its tenant's balance. Undefined if the first call to every
 * model would pass, or if no gateway could serve the store: `gw status` reports that.
 */
export async function firstCallWarning(
  store: Store,
  name: string,
  { clock }: Pick<AppPorts, 'clock'>,
): Promise<string | undefined> {
  const [key] = (await store.find({ kind: 'key', name })).resources
  const { quota, budget, tenant } = key?.spec ?? {}
  if (quota === undefined && budget === undefined && tenant === undefined) return undefined
  try {
    const state = await store.readState()
    // A gateway knows a key only by its secrets: this one stands for the secret that is about to be minted.
    const secrets = [...state.secrets, { key: name, digest: keyDigest('') }]
    const { view } = await contextOfState(store, { ...state, secrets }, clock, name)
    const entry = [...view.snapshot.keys.values()].find(each => each.name === name)
    const rejected = entry && rejectedFirstCall(entry, firstCalls(view), view)
    return rejected && rejectionText(rejected)
  } catch (error) {
    if (error instanceof CommandError && error.code === 'nothing_to_serve') return undefined
    throw error
  }
}

function rejectionText({ model, rejection }: RejectedFirstCall): string {
  return `"Hello!" to ${model} without \`max_tokens\` would be rejected: ${rejection.message}`
}

/** The reservation of a first call of each listed model, computed as for a real call. */
function firstCalls({ snapshot, clock }: Pick<View, 'snapshot' | 'clock'>): readonly FirstCall[] {
  return [...snapshot.publications.values()].flatMap(publication => {
    if (publication.status !== 'listed') return []
    const body = { model: publication.name, messages: [{ role: 'user', content: 'Hello!' }] }
    const inputTokens = Math.ceil(Buffer.byteLength(JSON.stringify(body)) / BYTES_PER_TOKEN)
    const callOptions = { model: publication.name, inputTokens }
    const estimate = estimateOf(publication, callOptions, pathOf(publication), clock)
    return estimate ? { publication, estimate } : []
  })
}

/** The first of these calls that the key's quota, budget or balance would reject; undefined if each would pass. */
function rejectedFirstCall(
  key: KeyEntry,
  calls: readonly FirstCall[],
  { limiter }: Pick<View, 'limiter'>,
): RejectedFirstCall | undefined {
  for (const call of calls) {
    if (!isVisible(key, call.publication)) continue
    for (const { rejection, isShadow } of limiter.inspect(key, call)) {
      // A wait means that the limit recovers soon.
      if (rejection && !isShadow && rejection.retryAfterMs === undefined)
        return { model: call.publication.name, rejection }
    }
  }
  return undefined
}
