import { keyDigest } from '../base/api-key.ts'
import { CommandError } from '../base/catalogue/command.ts'
import type { Problem, Tree } from '../config/types.ts'
import type { KeyEntry } from '../snapshot/types.ts'
import type { Store } from '../store/types.ts'
import type { AppPorts } from './context.ts'
import { firstCalls, type RejectedFirstCall, rejectedFirstCall } from './why/first-call.ts'
import { compiledFiles, freshView } from './why/from-files.ts'
import { contextOfState } from './why/from-store.ts'

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
