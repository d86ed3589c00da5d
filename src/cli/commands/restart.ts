import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { pluralize } from '../../base/pluralize.ts'
import { parseDurationMs } from '../../base/units.ts'
import { restartWorkers } from '../../services/restart.ts'
import { inStore } from '../in-store.ts'
import { keepProcessAlive } from '../keep-process-alive.ts'
import { newCommand } from '../new-command.ts'
import type { BindHandler } from '../session.ts'

interface Options {
  readonly timeout?: number
}

const TIMEOUT_MS = 120_000

/** `gw restart`: the workers of `gw serve --workers` are replaced, without an interruption. */
export function restartCommand(bind: BindHandler): Command {
  return newCommand('restart', 'Replace the workers of `gw serve --workers`, without an interruption.', [
    'npm install --global ./gw-0.2.0.tgz && gw restart',
    'gw restart --store sqlite:/var/lib/gw/gw.db',
  ])
    .option('--timeout <duration>', 'how long to wait until all are replaced (default: 2m)', timeoutArgument)
    .addHelpText(
      'after',
      `
Each worker is replaced by one that runs the program on disk: the new one serves before the old one accepts no more
connections and ends with its requests in flight. The supervisor itself keeps its version until it is stopped. The same
as SIGHUP to the supervisor, as the user that runs it.
`,
    )
    .action(
      bind<Options>(async (session, _args, { timeout: withinMs = TIMEOUT_MS }) => {
        const count = await inStore(session, 'read', context =>
          keepProcessAlive(
            restartWorkers({ ...context, withinMs, hangUp: pid => void process.kill(pid, 'SIGHUP') }),
          ),
        )
        session.out.result({
          text: () =>
            count === 0
              ? 'No gateway on this machine serves this store.\n'
              : `All workers were replaced: ${pluralize(count, 'gateway')}.\n`,
          json: () => ({ gateways: count }),
        })
        return EXIT.done
      }),
    )
}

function timeoutArgument(text: string): number {
  const ms = parseDurationMs(text)
  if (ms === undefined || ms < 1) throw new InvalidArgumentError('Write a duration such as 30s or 2m.')
  return ms
}
