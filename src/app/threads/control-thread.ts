import { constants } from 'node:os'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { GatheredLines } from '../../base/gathered-lines.ts'
import { createLog } from '../../base/log.ts'
import { pooledRandom, systemRandom } from '../../base/random.ts'
import type { ControlPlane } from '../control.ts'
import type { HealthAnswer } from '../health.ts'
import { comeBehind } from './priority.ts'
import type { ControlThread, MainThread } from './remote-control.ts'
import { type Calls, callsOver } from './worker-rpc.ts'

/**
 * For how long lines of the log are gathered: each message wakes the gateway's loop, and a client that asks one by one
 * has a line in each turn. No longer, because a line is to stand near what the gateway said at its time.
 */
const GATHER_MS = 10

/** The thread of the control plane, with an event loop, a heap and a connection to the store of its own. */
if (!parentPort) throw new Error('control-thread.ts runs in a thread')
// Before it loads what it needs: the gateway answers already. It is to answer under load, too, so not the lowest.
comeBehind(constants.priority.PRIORITY_BELOW_NORMAL)
serveControl(parentPort)

function serveControl(port: MessagePort): void {
  let plane: ControlPlane | undefined
  let health: Promise<HealthAnswer> | undefined
  const main: Calls<MainThread, ControlThread> = callsOver(port, {
    open: async ({ address, publicUrl, logLevel, ...settings }) => {
      const { openControl } = await import('../control.ts')
      plane = await withItsLines(
        openControl(address, {
          ...settings,
          publicUrl: publicUrl === undefined ? undefined : new URL(publicUrl),
          clock: systemClock,
          random: pooledRandom(systemRandom),
          log: createLog(
            { write: line => lines.write(line), flush: flushLines },
            { level: logLevel, pretty: false, colour: false },
          ),
          health: askHealth,
          currency: () => main.currency(),
          endpoints: () => main.endpoints(),
          explainHere: question => main.explain(question),
        }),
      )
      return plane.url
    },
    find: (...query) => opened().find(...query),
    close: (...words) => withItsLines(opened().close(...words)),
  })
  const lines = new GatheredLines(text => void main.writeLines.asEvent(text), systemClock, GATHER_MS)
  // A bug ends the thread as well, and its last lines may tell of it.
  process.once('exit', () => lines.flush())

  /** Whoever hears that it is done has its lines, and may end the thread. */
  async function withItsLines<Done>(work: Promise<Done>): Promise<Done> {
    try {
      return await work
    } finally {
      lines.flush()
    }
  }
  function flushLines(): void {
    lines.flush()
    void main.flushLines.asEvent()
  }
  /** Anybody may ask, without a key: all who wait at a time are one question to the gateway's loop. */
  function askHealth(): Promise<HealthAnswer> {
    health ??= main.health().finally(() => {
      health = undefined
    })
    return health
  }
  function opened(): ControlPlane {
    if (!plane) throw new Error('the control plane is not open')
    return plane
  }
}
