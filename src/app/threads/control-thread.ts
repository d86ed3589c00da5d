import { constants } from 'node:os'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { pooledChance, systemChance } from '../../base/chance.ts'
import { systemClock } from '../../base/clock.ts'
import { GatheredLines } from '../../base/gathered-lines.ts'
import { createLog } from '../../base/log.ts'
import type { ControlPlane } from '../control.ts'
import type { HealthAnswer } from '../health.ts'
import type { ControlThread, MainThread } from './distant-control.ts'
import { comeBehind } from './priority.ts'
import { callsOver } from './two-way-calls.ts'

/** The thread of the control plane, with an event loop, a heap and a connection to the store of its own. */
if (!parentPort) throw new Error('control-thread.ts runs in a thread')
// Before it loads what it needs: the gateway answers already. It is to answer under load, too, so not the lowest.
comeBehind(constants.priority.PRIORITY_BELOW_NORMAL)
serveControl(parentPort)

/**
 * A message for each line would take of the gateway's loop what hundreds of them take together. No longer, because a
 * line is to stand in the log about where it was said.
 */
const GATHER_MS = 10

function serveControl(port: MessagePort): void {
  let plane: ControlPlane | undefined
  let health: Promise<HealthAnswer> | undefined
  const main = callsOver<MainThread, ControlThread>(port, {
    async open({ address, publicUrl, logLevel, ...settings }) {
      const { openControl } = await import('../control.ts')
      plane = await openControl(address, {
        ...settings,
        publicUrl: publicUrl === undefined ? undefined : new URL(publicUrl),
        clock: systemClock,
        chance: pooledChance(systemChance),
        log: createLog(
          {
            write: line => lines.write(line),
            flush: () => {
              lines.flush()
              void main.flushLines.asEvent()
            },
          },
          { level: logLevel, pretty: false, colour: false },
        ),
        health: () => {
          health ??= main.health().finally(() => {
            health = undefined
          })
          return health
        },
        currency: () => main.currency(),
        endpoints: () => main.endpoints(),
        explainHere: question => main.explain(question),
      })
      return plane.url
    },
    find: (...query) => opened().find(...query),
    async close(...words) {
      try {
        await opened().close(...words)
      } finally {
        lines.flush()
      }
    },
  })
  const lines = new GatheredLines(text => void main.writeLine.asEvent(text), systemClock, GATHER_MS)
  // Also where a bug ends it.
  process.once('exit', () => lines.flush())
  function opened(): ControlPlane {
    if (!plane) throw new Error('the control plane is not open')
    return plane
  }
}
