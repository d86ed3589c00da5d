import { type Command, Option } from 'commander'
import { type ServeOptions, serve } from '../app/serve.ts'
import { CommandError, EXIT, type ExitCode } from '../base/catalogue/command.ts'
import { createLog } from '../base/log.ts'
import { parseDurationMs } from '../base/units.ts'
import { parseListen } from './listen.ts'
import type { Bind, Session } from './session.ts'
import { verb } from './verb.ts'

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

interface Options {
  readonly listen: string
  readonly controlListen: string
  readonly gatewayOnly?: true
  readonly controlOnly?: true
  readonly drain: string
  readonly maxConnections?: string
  readonly logLevel: (typeof LOG_LEVELS)[number]
}

/** `gw serve`: serves until a signal comes, which is its ordinary end. */
export function serveCommand(bind: Bind): Command {
  return verb('serve', 'Serve the gateway and the control plane from the store.', [
    'gw serve',
    'gw serve --listen 0.0.0.0:8090 --control-listen 127.0.0.1:8080',
    'gw serve --gateway-only --store sqlite:/var/lib/gw/gw.db',
  ])
    .option('--listen <host:port>', 'address of the gateway', '127.0.0.1:8090')
    .option('--control-listen <host:port>', 'address of the control plane', '127.0.0.1:8080')
    .option('--gateway-only', 'no control plane in this process')
    .option('--control-only', 'no gateway in this process')
    .option('--drain <duration>', 'how long requests at hand may go on after SIGTERM', '30s')
    .option('--max-connections <n>', 'clients at a time (default: by the limit of open files, up to 20000)')
    .addOption(new Option('--log-level <level>', 'what is worth a line').choices(LOG_LEVELS).default('info'))
    .action(bind<Options>(act))
}

async function act(
  { io, out, flags, signal }: Session,
  _args: readonly string[],
  options: Options,
): Promise<ExitCode> {
  const drainMs = parseDurationMs(options.drain)
  if (drainMs === undefined) {
    throw new CommandError('GW6001', `\`--drain ${options.drain}\` is no duration.`, {
      hint: 'Write 30s or 1m30s.',
    })
  }
  if (options.gatewayOnly && options.controlOnly) {
    throw new CommandError('GW6001', '`--gateway-only` and `--control-only` exclude each other.')
  }
  // Its stdout is the log, an object a line: where it ends in a failure, that is a line of it as well.
  out.lines()
  const log = createLog(
    { write: line => void io.stdout.write(line) },
    {
      level: options.logLevel,
      pretty: out.format === 'text' && io.stdout.isTTY === true,
      colour: out.style.colour,
    },
  )
  const wanted: ServeOptions = {
    store: flags.store,
    ...(options.maxConnections !== undefined && { maxConnections: parseCount(options.maxConnections) }),
    ...(!options.controlOnly && { gateway: parseListen(options.listen) }),
    ...(!options.gatewayOnly && { control: parseListen(options.controlListen) }),
  }
  signal.throwIfAborted()
  const { environment, cwd, clock, chance } = io
  const serving = await serve(wanted, { environment, cwd, clock, chance, log })
  if (serving.gatewayUrl) out.talk(`Gateway on ${serving.gatewayUrl}`)
  if (serving.controlUrl) out.talk(`Control plane on ${serving.controlUrl}`)
  out.talk(`Serving revision ${serving.revision}.`)
  const stopped = new Promise<undefined>(resolve => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  const failure = await Promise.race([stopped, serving.failed])
  if (failure) {
    await serving.close(0)
    throw failure
  }
  out.talk(`Stopping: requests at hand have ${options.drain}.`)
  await serving.close(drainMs)
  return EXIT.done
}

function parseCount(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw new CommandError('GW6001', `\`--max-connections ${text}\` is no number of connections.`, {
    hint: 'Write a whole number from 1, such as 20000.',
  })
}
