import { type Command, InvalidArgumentError } from 'commander'
import { EXIT, type ExitCode } from '../../base/catalogue/command.ts'
import { parseDurationMs } from '../../base/units.ts'
import { watchLiveStats } from '../../services/live-stats/monitor.ts'
import { liveStatsToJson } from '../../services/live-stats/to-json.ts'
import type { LiveStats } from '../../services/live-stats/types.ts'
import { gatewayAddress, noUrlOption } from '../addresses.ts'
import { countArgument } from '../arguments.ts'
import { ENDING_SIGNALS, type Signals } from '../io.ts'
import { keepProcessAlive } from '../keep-process-alive.ts'
import { newCommand } from '../new-command.ts'
import { liveStatsLine } from '../output/live-stats-text.ts'
import { appPorts, type BindHandler, liveStatsSources, type Session } from '../session.ts'

interface Options {
  readonly gateway?: string
  readonly interval?: number
  readonly count?: number
}

const INTERVAL_MS = 2_000
const SHORTEST_MS = 100
const LONGEST_MS = 3_600_000

const KEYS = `
Keys:
  tab, shift-tab   the next or previous pane            s   sort by the next column
  ↑ ↓ or k j       choose a row                         /   filter by name
  enter, esc       open details, and go back            q   quit

Environment:
  METRICS_TOKEN    the token of \`gw serve\`: shows rejections, and latency of every request.
                   Without it the numbers come from the store.
`

/** `gw top`: a live screen; lines if stdout is not a terminal. */
export function topCommand(bind: BindHandler): Command {
  return newCommand('top', 'Watch endpoints, models, keys and rejections live.', [
    'gw top',
    'METRICS_TOKEN=… gw top',
    'METRICS_TOKEN=… gw top --gateway http://10.0.0.5:8090   # a gateway elsewhere',
    'gw top --format json --count 1 | jq .total',
  ])
    .option('--gateway <url>', 'a gateway elsewhere (default: those that serve the store)', gatewayAddress)
    .addOption(noUrlOption())
    .option('--interval <duration>', 'time between samples (default: 2s)', intervalArgument)
    .option('--count <n>', 'end after this many samples', countArgument)
    .addHelpText('after', KEYS)
    .action(bind<Options>(handler))
}

async function handler(session: Session, _args: readonly string[], options: Options): Promise<ExitCode> {
  const { io, out } = session
  const { interval: intervalMs = INTERVAL_MS, count } = options
  const samples = (signal: AbortSignal) =>
    watchLiveStats(
      liveStatsSources(session, options.gateway),
      { intervalMs, ...(count !== undefined && { count }) },
      { ...appPorts(session), signal },
    )
  const isScreen = out.format === 'text' && io.stdout.isTTY === true && io.stdin.isTTY === true
  if (!isScreen || io.environment['TERM'] === 'dumb') return keepProcessAlive(lines(session, samples))
  // Loaded on demand: ink and react take 200 ms to load.
  const { showTop } = await import('../screen/top.tsx')
  await showTop(samples, {
    stdin: io.stdin,
    stdout: io.stdout,
    stderr: io.stderr,
    hasColour: out.style.colour,
    signal: session.signal,
    onExit: restore => whileShown(io.signals, restore),
  })
  return EXIT.done
}

/**
 * Restores the terminal if the process ends while the screen is shown. The first signal removes the listener of
 * `main.ts`, and without any listener ink would end the process by the signal itself: so one stays registered.
 */
function whileShown(signals: Signals, restore: () => void): () => void {
  const keepListening = () => undefined
  signals.on('exit', restore)
  for (const name of ENDING_SIGNALS) signals.on(name, keepListening)
  return () => {
    signals.off('exit', restore)
    for (const name of ENDING_SIGNALS) signals.off(name, keepListening)
  }
}

/** A line for each sample with rates. */
async function lines(
  { out, signal }: Session,
  samples: (signal: AbortSignal) => AsyncIterable<LiveStats>,
): Promise<ExitCode> {
  const print = out.lines()
  for await (const liveStats of samples(AbortSignal.any([signal, out.closed]))) {
    for (const note of liveStats.seconds === 0 ? liveStats.notes : []) out.info(note)
    if (liveStats.seconds > 0)
      print({ text: () => liveStatsLine(liveStats), json: () => liveStatsToJson(liveStats) })
  }
  return EXIT.done
}

function intervalArgument(text: string): number {
  const ms = parseDurationMs(text)
  if (ms === undefined || ms < SHORTEST_MS || ms > LONGEST_MS) {
    throw new InvalidArgumentError('Write a duration from 100ms to 1h, such as 5s.')
  }
  return ms
}
