import { hostname } from 'node:os'
import { CommandError } from '../base/catalogue/command.ts'
import { pause } from '../base/clock.ts'
import type { StoredGateway } from '../store/types.ts'
import type { Context } from './context.ts'
import { isAlive } from './gateways.ts'

const CHECK_MS = 50

export interface RestartPorts extends Pick<Context, 'store' | 'clock' | 'signal'> {
  readonly withinMs: number
  /** Sends SIGHUP to a process. @throws {NodeJS.ErrnoException} */
  readonly hangUp: (pid: number) => void
}

/**
 * Replaces all workers of this machine that serve the store, one by one, and waits until that is done.
 *
 * @returns how many gateways serve then; 0 if none served before.
 * @throws {CommandError} not_restarted if a gateway here has no supervisor, or the time is over; interrupted.
 */
export async function restartWorkers(ports: RestartPorts): Promise<number> {
  const all = await gatewaysHere(ports)
  const before = all.filter(isWorker)
  const supervisors = new Set(before.map(({ supervisorPid }) => supervisorPid))
  const single = all.find(gateway => !isWorker(gateway))
  if (single) {
    const name = `The gateway ${single.url ?? single.host}, process ${single.pid},`
    throw new CommandError('not_restarted', `${name} was started without \`--workers\`.`)
  }
  for (const pid of supervisors) if (pid !== undefined) hangUp(ports, pid)
  const old = new Set(before.map(({ id }) => id))
  const { clock, signal, withinMs } = ports
  const untilMs = clock.monotonicMs() + withinMs
  for (;;) {
    const now = (await gatewaysHere(ports)).filter(isWorker)
    if (now.length >= before.length && !now.some(({ id }) => old.has(id))) return now.length
    if (clock.monotonicMs() >= untilMs) {
      throw new CommandError(
        'not_restarted',
        `After ${Math.round(withinMs / 1_000)} s not all workers are replaced; the others go on.`,
      )
    }
    await pause(clock, CHECK_MS, signal)
    signal.throwIfAborted()
  }
}

function isWorker({ supervisorPid }: StoredGateway): boolean {
  return supervisorPid !== undefined
}

async function gatewaysHere({
  store,
  clock,
}: Pick<RestartPorts, 'store' | 'clock'>): Promise<readonly StoredGateway[]> {
  const here = hostname()
  return (await store.gateways()).filter(gateway => gateway.host === here && isAlive(gateway, clock.nowMs()))
}

function hangUp({ hangUp: send }: RestartPorts, pid: number): void {
  try {
    send(pid)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandError('not_restarted', `The supervisor, process ${pid}, cannot be asked: ${code}.`, {
      cause: error,
    })
  }
}
