import { setImmediate as others } from 'node:timers/promises'
import { keyDigest } from '../../base/api-key.ts'
import { CommandError } from '../../base/catalogue/command.ts'
import type { Clock } from '../../base/clock.ts'
import { yieldToEventLoop } from '../../base/yield-to-event-loop.ts'
import { Limiter } from '../../limits/limiter.ts'
import type { KeySums, KeySumsQuery } from '../../schema/ledger.ts'
import type { ServedState } from '../../schema/state.ts'
import { describe, linking } from '../../snapshot/compile.ts'
import { decoding } from '../../snapshot/decoding.ts'
import type { Snapshot } from '../../snapshot/types.ts'
import type { Accounting } from '../../store/ledger/types.ts'
import type { Live, Store, StoredResource } from '../../store/types.ts'
import { declaredNodes, NodeTargets, usesNodes } from '../../upstream/nodes.ts'
import { HealthRegistry } from '../../upstream/routing/health-registry.ts'
import type { DeclaredState, WhyContext } from './context.ts'
import type { View } from './decide.ts'

const RATES = 'Rates and the holds of requests in flight: only the gateway counts them; assumed to be zero.'
const SHARED =
  'Limits that several gateways share: as the store has them, up to a second old; requests in flight are assumed to hold nothing.'
const UNKNOWN = ['Endpoint health: only the gateway knows it; each endpoint is assumed to be usable.']
const NODES = 'Nodes: only the gateway knows who is connected; each declared node is assumed to be.'
const REFERRED =
  'Secrets behind references: only the gateway reads them, so a key is not found by such a secret.'

/** Resources per query. */
const PAGE = 100

/**
 * The resources of the store and the spending in its ledger: the state of a gateway that has just started.
 *
 * @param only loads the spending of this key; absent: of all keys.
 * @throws {CommandError} store_…; nothing_to_serve if the newest revision cannot be served.
 */
export async function contextOfStore(store: Store, clock: Clock, only?: string): Promise<WhyContext> {
  return contextOfState(store, await store.readState(), clock, only)
}

/** The same for a state that is already loaded. */
export async function contextOfState(
  store: Store,
  state: ServedState,
  clock: Clock,
  only?: string,
): Promise<WhyContext> {
  const decoded = await yieldToEventLoop(decoding(state), clock)
  const compiled = await yieldToEventLoop(
    linking(decoded, reference => keyDigest(describe(reference))),
    clock,
  )
  if (!compiled.ok) {
    const problems = compiled.problems.join('; ')
    throw new CommandError('nothing_to_serve', `Revision ${state.revision} cannot be served: ${problems}.`)
  }
  const { snapshot } = compiled
  const limiter = new Limiter(clock)
  const query = limiter.balanceQuery(snapshot)
  const { accounting } = store
  const account = only === undefined ? undefined : accountOf(only, snapshot)
  const queries = query.queries.filter(({ key }) => account === undefined || key === account)
  query.answerSums(await sumsOf(queries, accounting, clock.nowMs(), account))
  query.answerBalances(await balancesOf(query.tenants, accounting))
  limiter.adopt(snapshot)
  const shared = await accounting.sharedLimits(ownersOf(account, snapshot))
  limiter.observe(shared)
  const health = new HealthRegistry(clock)
  health.adopt(snapshot)
  const refers = decoded.keys.some(({ secret }) => secret !== undefined)
  return {
    source: 'store',
    revision: state.revision,
    unknown: [
      shared.length > 0 ? SHARED : RATES,
      ...UNKNOWN,
      ...(refers ? [REFERRED] : []),
      ...(usesNodes(snapshot) ? [NODES] : []),
    ],
    view: {
      snapshot,
      limiter,
      health,
      clock,
      nodes: new NodeTargets(declaredNodes(snapshot)),
      ledgerHealthy: true,
    },
    manualMaintenance: state.maintenance !== undefined,
    ...resourcesOf(store),
  }
}

/** The ledger account of a key that has a secret. */
function accountOf(name: string, { keys }: Snapshot): string {
  for (const key of keys.values()) if (key.name === name) return key.account
  return name
}

/** A key and its tenant; without a key, all of them. */
function ownersOf(account: string | undefined, { keys }: Snapshot): readonly string[] {
  const owners = new Set<string>()
  for (const key of keys.values()) {
    if (account !== undefined && key.account !== account) continue
    owners.add(`key ${key.account}`)
    if (key.tenant) owners.add(`tenant ${key.tenant.account}`)
  }
  return [...owners]
}

/** The state of the gateway in this process, with the resources of its store. */
export async function contextOfGateway(view: View, store: Pick<Store, 'find'>): Promise<WhyContext> {
  const { maintenance } = await store.find({ kind: 'settings' })
  return {
    source: 'gateway',
    revision: view.snapshot.revision,
    unknown: [],
    view,
    manualMaintenance: maintenance !== undefined,
    ...resourcesOf(store),
  }
}

function resourcesOf(store: Pick<Store, 'find'>): Pick<WhyContext, 'one' | 'all'> {
  return {
    async one(kind, name) {
      const [found] = toDeclared(await store.find({ kind, name }))
      return found
    },
    async all(kind) {
      const found: DeclaredState[] = []
      for (;;) {
        const after = found.at(-1)?.name
        const page = toDeclared(
          await store.find({ kind, limit: PAGE, ...(after !== undefined && { after }) }),
        )
        found.push(...page)
        if (page.length < PAGE) return found
        await others()
      }
    },
  }
}

function toDeclared({ resources, holds }: Live): DeclaredState[] {
  const suspended = new Set(holds.map(({ key }) => key))
  return resources.map(({ kind, name, spec, owner, place }: StoredResource) => ({
    name,
    spec,
    owner,
    ...(place && { file: place.file, line: place.line }),
    ...(kind === 'key' && suspended.has(name) && { isSuspended: true }),
  }))
}

/** The settled usage of each key, for life and since the start of its window: one query per distinct start. */
async function sumsOf(
  queries: readonly KeySumsQuery[],
  accounting: Accounting,
  untilMs: number,
  only: string | undefined,
): Promise<readonly KeySums[]> {
  const usageSince = async (sinceMs: number) => {
    const key = only !== undefined && { key: only }
    // Includes calls that end in this very millisecond.
    const rows = await accounting.usage({ by: 'key', sinceMs, untilMs: untilMs + 1, ...key })
    return new Map(rows.map(row => [row.label, row]))
  }
  if (queries.length === 0) return []
  const life = await usageSince(0)
  const windows = new Map<number, Awaited<ReturnType<typeof usageSince>>>()
  for (const { sinceMs } of queries) {
    if (!windows.has(sinceMs)) windows.set(sinceMs, await usageSince(sinceMs))
  }
  return queries.map(({ key, sinceMs }) => {
    const total = life.get(key)
    return {
      key,
      totalTokens: total ? total.inputTokens + total.outputTokens : 0,
      totalNano: total?.amountNano ?? 0n,
      windowNano: windows.get(sinceMs)?.get(key)?.amountNano ?? 0n,
    }
  })
}

async function balancesOf(
  tenants: readonly string[],
  accounting: Accounting,
): Promise<ReadonlyMap<string, bigint>> {
  if (tenants.length === 0) return new Map()
  const balances = new Map(
    (await accounting.wallets()).map(({ tenant, balanceNano }) => [tenant, balanceNano]),
  )
  return new Map(tenants.map(tenant => [tenant, balances.get(tenant) ?? 0n]))
}
