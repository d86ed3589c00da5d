import { type Command, InvalidArgumentError } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { pluralize } from '../../base/pluralize.ts'
import { probeEndpoints } from '../../services/probe.ts'
import { type ProbeOptions, probesToJson } from '../../services/probe-round.ts'
import { inCommandStore } from '../in-store.ts'
import { keepProcessAlive } from '../keep-process-alive.ts'
import { newCommand } from '../new-command.ts'
import { probesToText, progressToText } from '../output/probe-text.ts'
import { progressLine } from '../output/progress.ts'
import { appPorts, type BindHandler, type Session } from '../session.ts'
import { durationArgument } from '../time-argument.ts'

/** The default timeout of a probe: long enough for a server that loads the model first. */
export const PROBE_TIMEOUT_MS = 10_000

interface Options {
  readonly timeout?: number
  readonly paths?: boolean
}

/** `gw probe`: sends each endpoint a minimal request, with a hint for each failure. */
export function probeCommand(bind: BindHandler): Command {
  return newCommand(
    'probe',
    'Send each endpoint a minimal request: shows latency, or the problem and a hint.',
    [
      'gw probe                        # the endpoints of the store',
      'gw probe openai-eu              # one of them',
      'gw probe -c ./config            # those of these files, before they are applied',
      'gw probe --paths                # and which paths they serve, as a line for the files',
      'gw probe --format json --timeout 30s',
    ],
  )
    .argument('[name...]', 'endpoints (default: all)')
    .option('--timeout <duration>', 'for each request (default: 10s)', timeoutArgument)
    .option('--paths', 'also find the paths that each upstream serves, by empty requests')
    .addHelpText(
      'after',
      [
        '',
        'The request is a chat of one word and one output token for each endpoint and model. Listed but not',
        'probed: endpoints with skip_probe, and disabled ones that are not named. Ends with 5 if a probe has failed.',
      ].join('\n'),
    )
    .action(
      bind<Options>(async (session, names, { timeout = PROBE_TIMEOUT_MS, paths: findsPaths = false }) => {
        const { out, flags } = session
        const paths = flags.config.length > 0 ? flags.config : undefined
        const rows = await withProgress(session, timeout, options =>
          inCommandStore(session, 'read', stored =>
            probeEndpoints(names, paths, stored, appPorts(session), { ...options, findsPaths }),
          ),
        )
        if (rows.length === 0) out.info('No endpoints yet: declare one under `endpoints`.')
        out.result({
          text: () => probesToText(rows, out.style, out.width),
          json: () => probesToJson(rows),
        })
        const failed = rows.filter(({ state }) => state === 'failed').length
        if (failed === 0) return EXIT.done
        // The JSON document is complete already.
        if (out.format === 'json') return EXIT.unhealthy
        return out.fail(
          new CommandError('probe_failed', `${pluralize(failed, 'probe')} of ${rows.length} failed.`, {
            hint: 'Correct the causes listed above.',
          }),
        )
      }),
    )
}

/** Runs probes with a progress line, which is removed at the end. */
export async function withProgress<T>(
  { io }: Session,
  timeoutMs: number,
  work: (options: ProbeOptions) => Promise<T>,
): Promise<T> {
  const line = progressLine(io)
  try {
    return await keepProcessAlive(
      work({
        timeoutMs,
        onProgress: progress =>
          progress.done < progress.total ? line.show(progressToText(progress)) : line.clear(),
      }),
    )
  } finally {
    line.clear()
  }
}

/** The argument of `--timeout`. */
export function timeoutArgument(text: string): number {
  const ms = durationArgument(text)
  if (ms < 1) throw new InvalidArgumentError('Write a time of at least 1ms, such as 10s.')
  return ms
}
