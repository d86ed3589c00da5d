import { EXIT, type ExitCode } from '../../base/catalogue/command.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { serve } from '../../server/serve.ts'
import type { ServeOptions, Serving } from '../../server/serving.ts'
import { forkWorker, missingReasons } from '../../server/supervisor/cluster.ts'
import { Supervisor, WorkerFailed } from '../../server/supervisor/supervisor.ts'
import { keepProcessAlive } from '../keep-process-alive.ts'
import { problemsToText } from '../output/problems.ts'
import { announce } from '../output/serving-text.ts'
import type { Session } from '../session.ts'

export interface SuperviseOptions {
  /** What this process serves itself: the control plane, and the files. */
  readonly own: Omit<ServeOptions, 'gateway'>
  readonly workers: number
  /** How many listening sockets this process has inherited. */
  readonly sockets: number
  readonly drainMs: number
  readonly log: Log
  /** A terminal: problems of files are shown with their lines. */
  readonly pretty: boolean
}

/** How long workers may take to end after all requests have. */
const WORKERS_END_MS = 15_000
const REPORT_EVERY_MS = 1_000

/** `gw serve --workers`: workers serve the gateway, until a signal. */
export async function superviseUntilSignal(session: Session, options: SuperviseOptions): Promise<ExitCode> {
  const { io, signal } = session
  const { workers, log } = options
  signal.throwIfAborted()
  const supervisor = new Supervisor(workers, {
    clock: io.clock,
    log,
    fork: () =>
      forkWorker({
        out: text => void io.stdout.write(text),
        err: text => void io.stderr.write(text),
        sockets: options.sockets,
      }),
  })
  const started = Promise.withResolvers<Serving | undefined>()
  session.onHangup(() => {
    log.info({ signal: 'SIGHUP' }, 'replacing all workers')
    // During the start it waits: files and secrets may have been read before the signal.
    started.promise
      .then(serving => serving?.reload())
      .then(() => supervisor.restart())
      .catch((error: unknown) => log.error({ err: error }, 'replacing all workers'))
  })
  const serving = await serveOwn(session, options, supervisor)
  const onStarted = () => started.resolve(serving)
  const stopReporting = serving && reportFiles(io.clock, serving, supervisor)
  try {
    return await keepProcessAlive(runWorkers(session, options, supervisor, serving, onStarted))
  } finally {
    stopReporting?.()
    await serving?.close(0)
  }
}

/** Each worker speaks for all: in `/health`, in metrics and in the store. @returns a function that ends it. */
function reportFiles(clock: Clock, serving: Serving, supervisor: Supervisor): () => void {
  let timer: Timer
  const report = () => {
    supervisor.report(serving.fileReasons())
    timer = clock.after(REPORT_EVERY_MS, report)
  }
  report()
  return () => timer.cancel()
}

/** The control plane, and the files; undefined if there is neither. */
async function serveOwn(
  session: Session,
  { own, workers, log, pretty }: SuperviseOptions,
  supervisor: Supervisor,
): Promise<Serving | undefined> {
  if (!own.control && !own.files) return undefined
  const { out, io, signal } = session
  const { environment, cwd, clock, random } = io
  return serve(own, {
    environment,
    cwd,
    clock,
    random,
    log,
    signal,
    reasons: () => missingReasons(supervisor.missing, workers),
    onFilesRejected: ({ problems }) => {
      if (pretty) out.info(problemsToText(problems, out.format, out.infoStyle).trimEnd())
    },
  })
}

async function runWorkers(
  { out, signal }: Session,
  { drainMs }: SuperviseOptions,
  supervisor: Supervisor,
  serving: Serving | undefined,
  onStarted: () => void,
): Promise<ExitCode> {
  const stopped = new Promise<undefined>(resolve => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  const ended = Promise.race([stopped, ...(serving ? [serving.failed] : [])])
  try {
    const first = await Promise.race([supervisor.start(), ended.then(() => undefined)])
    if (first) {
      onStarted()
      const { controlUrl } = serving ?? {}
      announce(out, {
        gatewayUrl: first.url,
        revision: first.revision,
        ...(controlUrl !== undefined && { controlUrl }),
      })
    }
    const failure = await ended
    out.info(failure ? `Stopping: ${failure.error.message}.` : 'Stopping all workers.')
    serving?.beginDrain()
    await supervisor.close(drainMs + WORKERS_END_MS)
    if (failure) throw failure.error
    return EXIT.done
  } catch (error) {
    // The worker has said why.
    if (error instanceof WorkerFailed) return exitCodeOf(error.end.code)
    throw error
  }
}

function exitCodeOf(code: number | null): ExitCode {
  return Object.values(EXIT).find(known => known === code) ?? EXIT.unexpected
}
