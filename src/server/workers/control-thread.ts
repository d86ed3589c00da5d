import { constants } from 'node:os'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { GatheredLines } from '../../base/gathered-lines.ts'
import { createLog } from '../../base/log.ts'
import { pooledRandom, systemRandom } from '../../base/random.ts'
import type { ControlPlane } from '../admin-server.ts'
import { lowerPriority } from './priority.ts'
import type { ControlThread, MainThread } from './remote-control.ts'
import { type Calls, callsOver } from './worker-rpc.ts'

/**
 * How long log lines are batched: each message wakes the gateway's event loop, and a client with serial requests
 * causes a line per turn. Kept short, so that lines stay close in time to those of the gateway.
 */
const GATHER_MS = 10

/** The thread of the control plane, with its own event loop, heap and store connection. */
if (!parentPort) throw new Error('control-thread.ts runs in a thread')
// Before further imports: the gateway already answers. Not the lowest priority, because the control plane must answer
// under load, too.
lowerPriority(constants.priority.PRIORITY_BELOW_NORMAL)
serveControl(parentPort)

function serveControl(port: MessagePort): void {
  let plane: ControlPlane | undefined
  const main: Calls<MainThread, ControlThread> = callsOver(port, {
    open: async ({ address, publicUrl, logLevel, ...settings }) => {
      const { openControl } = await import('../admin-server.ts')
      plane = await withFlushedLines(
        openControl(address, {
          ...settings,
          publicUrl: publicUrl === undefined ? undefined : new URL(publicUrl),
          clock: systemClock,
          random: pooledRandom(systemRandom),
          log: createLog(
            { write: line => lines.write(line), flush: flushLines },
            { level: logLevel, pretty: false, colour: false },
          ),
          health: shared(() => main.health()),
          endpoints: () => main.endpoints(),
          nodeActivity: () => main.nodeActivity(),
          askOwnGateway: shared(() => main.ownGateway()),
          explainHere: question => main.explain(question),
        }),
      )
      return plane.url
    },
    find: (...query) => opened().find(...query),
    close: (...words) => withFlushedLines(opened().close(...words)),
  })
  const lines = new GatheredLines(text => void main.writeLines.asEvent(text), systemClock, GATHER_MS)
  // An uncaught error ends the thread too, and its last lines may explain it.
  process.once('exit', () => lines.flush())

  /** Flushes the lines before the result is sent, because the caller may then end the thread. */
  async function withFlushedLines<Done>(work: Promise<Done>): Promise<Done> {
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
  function opened(): ControlPlane {
    if (!plane) throw new Error('the control plane is not open')
    return plane
  }
}

/** Concurrent calls share the answer of the first one, so that the gateway's event loop gets one message. */
function shared<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let asked: Promise<Answer> | undefined
  return () => {
    asked ??= ask().finally(() => {
      asked = undefined
    })
    return asked
  }
}
