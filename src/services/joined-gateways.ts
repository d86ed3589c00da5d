import { CommandError } from '../base/catalogue/command.ts'
import { type Clock, pause } from '../base/clock.ts'
import { iso } from '../base/iso.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { settleLeft } from '../store/ledger/recover-lanes.ts'
import type { RegisteredInstance } from '../store/shares/registry.ts'
import type { Store, StoredGateway } from '../store/types.ts'
import { record } from './audit.ts'
import type { Context } from './context.ts'
import { isAlive } from './gateways.ts'
import { type Page, type PageQuery, pageOf } from './paging.ts'

export type JoinedGateway = AnswerOf<OperationOf<'list_gateways'>>['data'][number]
export type ForgottenGateway = AnswerOf<OperationOf<'forget_gateway'>>

/** The gateways that have joined the store or report to it, by id. */
export async function listGateways(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  query: PageQuery,
): Promise<Page<JoinedGateway>> {
  const gateways = await joinedGateways(store, clock.nowMs())
  return pageOf(
    query,
    async (limit, behind) => gateways.filter(({ id }) => behind === undefined || id > behind).slice(0, limit),
    ({ id }) => id,
    gateway => gateway,
  )
}

/**
 * Takes from a gateway that will never return the right to write, and with it what it holds.
 * @param input `isForced`: also from one that may be alive.
 * @throws {CommandError} not_found, gateway_alive
 */
export async function forgetGateway(
  context: Pick<Context, 'store' | 'clock' | 'signal' | 'actor' | 'auditLog'>,
  { id, isForced }: { readonly id: string; readonly isForced: boolean },
): Promise<ForgottenGateway> {
  const { store, clock, signal } = context
  signal.throwIfAborted()
  const known = (await joinedGateways(store, clock.nowMs())).find(gateway => gateway.id === id)
  if (!known) throw unknownGateway(id)
  const hasJoined = (await store.instances.all()).some(instance => instance.id === id)
  if (!hasJoined && known.state === 'alive' && !isForced) throw alive(known, true)
  const forgotten = await store.instances.forget(id, isForced)
  if (forgotten.is === 'unknown') throw unknownGateway(id)
  if (forgotten.is === 'alive') throw alive(known, forgotten.canForce)
  await record(context, { action: 'forget_gateway', target: `gateway/${id}` })
  const { shares, openCalls } = forgotten
  return { id, forgotten: true, shares, open_calls: openCalls }
}

const SETTLED_WITHIN_MS = 5_000
const CHECK_AGAIN_MS = 50

export interface SettlePorts extends Pick<Context, 'store'> {
  readonly url: string
  readonly clock: Clock
  readonly cwd: string
  readonly signal: AbortSignal
  readonly onAlarm: (message: string) => void
}

/**
 * Settles the calls of a forgotten gateway, in place of a gateway that serves the store.
 * @returns false if it is still there after seconds: another gateway is at it.
 * @throws {CommandError} journal_damaged, store_…
 */
export async function settleForgotten(
  id: string,
  { store, url, clock, cwd, signal, onAlarm }: SettlePorts,
): Promise<boolean> {
  const isLeft = async () => (await store.instances.all()).filter(instance => instance.id === id)
  const left = await isLeft()
  if (left.length === 0) return true
  const ignore = () => undefined
  const events = { onProblem: ignore, onRecovered: ignore, onDeath: ignore, onAlarm }
  await settleLeft(url, left, { clock, folder: cwd, events })
  const untilMs = clock.monotonicMs() + SETTLED_WITHIN_MS
  while ((await isLeft()).length > 0) {
    if (clock.monotonicMs() >= untilMs) return false
    await pause(clock, CHECK_AGAIN_MS, signal)
    signal.throwIfAborted()
  }
  return true
}

async function joinedGateways(
  store: Pick<Store, 'gateways' | 'instances'>,
  nowMs: number,
): Promise<JoinedGateway[]> {
  const reports = new Map((await store.gateways()).map(report => [report.id, report]))
  const joined = (await store.instances.all()).map(instance => {
    const report = reports.get(instance.id)
    reports.delete(instance.id)
    return toJoined(instance.id, instance, report, nowMs)
  })
  const reporting = [...reports.values()].map(report => toJoined(report.id, undefined, report, nowMs))
  return [...joined, ...reporting].sort((a, b) => (a.id < b.id ? -1 : 1))
}

function toJoined(
  id: string,
  instance: RegisteredInstance | undefined,
  report: StoredGateway | undefined,
  nowMs: number,
): JoinedGateway {
  const { leaseUntilMs, shares } = instance ?? { shares: 0 }
  return {
    id,
    name: report ? `${report.host}:${report.pid}` : null,
    state: stateOf(instance, report, nowMs),
    version: report?.version ?? null,
    revision: report?.revision ?? null,
    url: report?.url ?? null,
    started_at: report ? iso(report.startedAtMs) : null,
    seen_at: report ? iso(report.seenAtMs) : null,
    lease_until: leaseUntilMs === undefined ? null : iso(leaseUntilMs),
    shares: shares ?? null,
    open_calls: instance?.openCalls ?? 0,
  }
}

function stateOf(
  instance: RegisteredInstance | undefined,
  report: StoredGateway | undefined,
  nowMs: number,
): JoinedGateway['state'] {
  if (instance?.isFenced) return 'fenced'
  if (instance?.isLeaseOver || (report && !isAlive(report, nowMs))) return 'late'
  // One that starts has a lease before its first heartbeat.
  return report || instance?.leaseUntilMs !== undefined ? 'alive' : 'late'
}

function unknownGateway(id: string): CommandError {
  return new CommandError('not_found', `There is no gateway ${id}.`, {
    hint: '`gw gateways list` shows those that have joined, by their ids.',
  })
}

function alive({ id, name, lease_until: until }: JoinedGateway, canForce: boolean): CommandError {
  const lease = until === null ? '' : `, and its lease ends at ${until}`
  return new CommandError(
    'gateway_alive',
    `Gateway ${id}${name === null ? '' : ` (${name})`} may be alive${lease}.`,
    canForce
      ? { hint: 'End its process, and try again; `--force` fences it also if it lives. Nothing was changed.' }
      : {
          hint: 'End its process, also with `kill -9`; then others take over what it has. Nothing was changed.',
        },
  )
}
