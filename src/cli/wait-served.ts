import { type Command, InvalidArgumentError } from 'commander'
import { pluralize } from '../base/pluralize.ts'
import { parseDurationMs } from '../base/units.ts'
import { waitUntilServed } from '../services/wait-served.ts'
import type { Store } from '../store/types.ts'
import { keepProcessAlive } from './keep-process-alive.ts'
import { progressLine } from './output/progress.ts'
import type { Session } from './session.ts'

/** As parsed by commander: a duration, `--wait` alone (true), `--no-wait` (false), or none of them. */
export type WaitFlag = number | boolean | undefined

/** Enough by default: a running gateway polls the store ten times a second. */
const DEFAULT_WAIT_MS = 5_000
const LONG_WAIT_MS = 30_000

/** `--wait [duration]` and `--no-wait` of a command that commits a revision. */
export function addWaitOptions(command: Command): Command {
  return command
    .option(
      '--wait [duration]',
      'wait at most this long for every gateway to serve the revision (default: 5s; --wait alone: 30s)',
      waitArgument,
    )
    .option('--no-wait', 'do not wait for the gateways')
}

/**
 * Waits until the gateways of the store serve a revision. Returns their number; undefined without waiting.
 * @throws {CommandError} not_served, interrupted
 */
export async function awaitServed(
  session: Session,
  store: Store,
  revision: number,
  wait: WaitFlag,
): Promise<number | undefined> {
  // Revision 0 is a store that does not exist yet.
  if (wait === false || revision === 0) return undefined
  const withinMs = wait === undefined ? DEFAULT_WAIT_MS : wait === true ? LONG_WAIT_MS : wait
  const line = progressLine(session.io)
  try {
    return await keepProcessAlive(
      waitUntilServed(store, revision, {
        clock: session.io.clock,
        signal: session.signal,
        withinMs,
        onProgress: ({ serving, gateways }) =>
          line.show(`Revision ${revision}: served by ${serving} of ${pluralize(gateways, 'gateway')}`),
      }),
    )
  } finally {
    line.clear()
  }
}

/** Ends with a line feed, or is empty. "No gateway" is reported only with `--wait`. */
export function servedText(gateways: number | undefined, wait: WaitFlag): string {
  if (gateways === undefined || (gateways === 0 && wait === undefined)) return ''
  return gateways === 0
    ? 'No gateway serves this store at the moment.\n'
    : `Served by ${pluralize(gateways, 'gateway')}.\n`
}

function waitArgument(text: string): number {
  const ms = parseDurationMs(text)
  if (ms === undefined || ms < 1) throw new InvalidArgumentError('Write a duration such as 30s or 2m.')
  return ms
}
