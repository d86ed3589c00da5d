import { type Command, InvalidArgumentError } from 'commander'
import { pluralize } from '../app/pluralize.ts'
import { probeEndpoints } from '../app/probe.ts'
import type { ProbeOptions } from '../app/probe-round.ts'
import { CommandError, EXIT } from '../base/catalogue/command.ts'
import { keepProcessAlive } from './keep-process-alive.ts'
import { newCommand } from './new-command.ts'
import { probesToJson, probesToText, progressToText } from './probe-text.ts'
import { progressLine } from './progress.ts'
import { appPorts, type BindHandler, type Session } from './session.ts'
import { durationArgument } from './time-argument.ts'

/** How long an upstream may take for one word, unless told otherwise: models may have to be loaded. */
export const PROBE_TIMEOUT_MS = 10_000

interface Options {
  readonly timeout?: number
}

/** `gw probe`: asks endpoints for one word each, and says what would hint those that do not answer. */
export function probeCommand(bind: BindHandler): Command {
  return newCommand(
    'probe',
    'Ask endpoints for one word each: which answer, how fast, and what would hint the others.',
    [
      'gw probe                        # what the store holds',
      'gw probe openai-eu              # one of them',
      'gw probe -c ./config            # what these files say, before they are applied',
      'gw probe --format json --timeout 30s',
    ],
  )
    .argument('[name...]', 'endpoints (default: all)')
    .option('--timeout <duration>', 'for each request (default: 10s)', timeoutArgument)
    .addHelpText(
      'after',
      [
        '',
        'A chat of one word and one token for each endpoint and model. Endpoints with skip_probe, and disabled',
        'ones, are listed and never asked. Ends with 5 where one has failed.',
      ].join('\n'),
    )
    .action(
      bind<Options>(async (session, names, { timeout = PROBE_TIMEOUT_MS }) => {
        const { out, flags } = session
        const paths = flags.config.length > 0 ? flags.config : undefined
        const rows = await withProgress(session, timeout, wishes =>
          probeEndpoints(names, paths, flags.store, appPorts(session), wishes),
        )
        if (rows.length === 0) out.info('No endpoints yet: declare one under `endpoints`.')
        out.result({
          text: () => probesToText(rows, out.style, out.width),
          json: () => probesToJson(rows),
        })
        const failed = rows.filter(({ state }) => state === 'failed').length
        if (failed === 0) return EXIT.done
        // The one JSON document has told everything.
        if (out.format === 'json') return EXIT.unhealthy
        return out.fail(
          new CommandError('GW5001', `${pluralize(failed, 'probe')} of ${rows.length} failed.`, {
            hint: 'Mend what stands above.',
          }),
        )
      }),
    )
}

/** Runs probes with a line of progress that is gone when they have ended. */
export async function withProgress<T>(
  { io }: Session,
  timeoutMs: number,
  work: (wishes: ProbeOptions) => Promise<T>,
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
  if (ms < 1) throw new InvalidArgumentError('Write a time of a millisecond at the least, such as 10s.')
  return ms
}
