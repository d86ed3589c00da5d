import { CommandError } from '../base/catalogue/command.ts'
import { pause } from '../base/clock.ts'
import { pluralize } from '../base/pluralize.ts'
import type { Store, StoredGateway } from '../store/types.ts'
import type { AppPorts } from './context.ts'
import { isAlive } from './gateways.ts'
import { variableHint } from './serve-check.ts'

export interface WaitOptions extends Pick<AppPorts, 'clock' | 'signal'> {
  readonly withinMs: number
  /** Called after each check. */
  readonly onProgress: (progress: { readonly serving: number; readonly gateways: number }) => void
}

/** A gateway serves a commit within 100 ms and reports it at once. */
const CHECK_MS = 50

/**
 * Waits until every live gateway serves `revision` or a later one. Returns the number of gateways: 0 if no gateway
 * serves the store.
 *
 * @throws {CommandError} not_served if a gateway rejects the revision or the time is over; interrupted after an abort. The
 * revision stays applied.
 */
export async function waitUntilServed(
  store: Pick<Store, 'gateways'>,
  revision: number,
  { withinMs, onProgress, clock, signal }: WaitOptions,
): Promise<number> {
  const endsAtMs = clock.monotonicMs() + withinMs
  for (;;) {
    const alive = (await store.gateways()).filter(gateway => isAlive(gateway, clock.nowMs()))
    const waiting = alive.filter(gateway => !isServing(gateway, revision))
    onProgress({ serving: alive.length - waiting.length, gateways: alive.length })
    if (waiting.length === 0) return alive.length
    const rejecting = waiting.find(({ rejected }) => rejected && rejected.revision >= revision)
    if (rejecting) {
      const reason = rejecting.rejected?.reason ?? ''
      throw unserved(revision, `${named(rejecting)} rejects it: ${reason}`, variableHint(reason))
    }
    if (clock.monotonicMs() >= endsAtMs) {
      const behind = waiting.map(gateway => `${named(gateway)} serves ${gateway.revision}`).join(', ')
      throw unserved(revision, `after ${Math.round(withinMs / 1_000)} s ${behind}`)
    }
    await pause(clock, CHECK_MS, signal)
    if (signal.aborted) throw interrupted(revision, waiting.length)
  }
}

function isServing({ revision: served, rejected }: StoredGateway, wanted: number): boolean {
  return served >= wanted && (rejected === undefined || rejected.revision < wanted)
}

function named({ host, pid, url }: StoredGateway): string {
  return `the gateway ${url ?? host} (${host}, process ${pid})`
}

function unserved(revision: number, why: string, hint?: string): CommandError {
  return new CommandError(
    'not_served',
    `Revision ${revision} is applied, but ${why}.`,
    hint === undefined ? {} : { hint },
  )
}

function interrupted(revision: number, waiting: number): CommandError {
  return new CommandError(
    'interrupted',
    `Interrupted: revision ${revision} is applied, and ${pluralize(waiting, 'gateway')} did not serve it yet.`,
    { hint: '`gw status` shows which revision each gateway serves.' },
  )
}
