import process, { env } from 'node:process'
import { parseArgs } from 'node:util'
import { COMMAND_FAULTS, CommandError } from '../base/catalogue/command.ts'
import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { parseDurationMs } from '../base/units.ts'
import { type JoinOptions, joinNode, leaveNode, type NodeIo, nodeStatus } from './commands.ts'

/** The single file of a node: `gw node` without the rest of gw, and without packages. */

/** Set by the build. */
declare const GW_VERSION: string

const HELP = `Examples:
  node gw-node.mjs join --server https://gw:8095 --name gpu-7 --engine http://127.0.0.1:8000 --token-file ./token
  node gw-node.mjs join --discover
  node gw-node.mjs status
  node gw-node.mjs leave

Usage: node gw-node.mjs join|status|leave [options]

The options are those of \`gw node join --help\`:
  --server <url>         the address of \`gw serve --node-listen\`; needed for the first join; repeatable
  --name <name>          the name of this node; needed for the first join
  --token-file <path>    a file with the join token, or - for stdin; else GW_JOIN_TOKEN
  --engine <[name=]url>  a model server of this machine; repeatable
  --discover             offer the model servers that answer on their usual ports
  --allow-address        engines may be on other machines
  --allow-plaintext      a gateway on another machine may be reached without TLS
  --carrier <how>        auto, upgrade or websocket, for load balancers that pass nothing else (default: auto)
  --drain <duration>     how long calls in flight may continue after SIGTERM (default: 30s)
  --state <path>         the file with the credential (default: gw/node.json in ~/.config)
  --ca <path>            PEM of the authorities that sign the certificate of the gateway
  --cert <path>          PEM of a client certificate, if the gateway demands one
  --key <path>           PEM of its private key

Exit codes: 0 done, 1 unexpected, 4 the gateway rejects this node, 64 usage
`

const OPTIONS = {
  server: { type: 'string', multiple: true },
  name: { type: 'string' },
  'token-file': { type: 'string' },
  engine: { type: 'string', multiple: true },
  discover: { type: 'boolean' },
  'allow-address': { type: 'boolean' },
  'allow-plaintext': { type: 'boolean' },
  carrier: { type: 'string' },
  drain: { type: 'string' },
  state: { type: 'string' },
  ca: { type: 'string' },
  cert: { type: 'string' },
  key: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'V' },
} as const

try {
  await run(process.argv.slice(2))
} catch (error) {
  const failure =
    error instanceof CommandError ? error : new CommandError('unexpected', text(error), { cause: error })
  print(`error ${failure.number}: ${failure.message}\n  hint: ${failure.hint}`)
  process.exitCode = COMMAND_FAULTS[failure.code].exit
}

async function run(argv: readonly string[]): Promise<void> {
  const { values, positionals } = parsed(argv)
  if (values.version) return void process.stdout.write(`${GW_VERSION}\n`)
  if (values.help) return void process.stdout.write(HELP)
  const [command, ...more] = positionals
  if (more.length > 0) throw new CommandError('usage', `Unexpected: ${more.join(' ')}.`)
  const abort = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => abort.abort())
  const io = nodeIo(abort.signal)
  // Between two connections only a timer runs, which does not keep a process alive by itself.
  const alive = setInterval(() => undefined, 60_000)
  try {
    await handle(command, io, values)
  } finally {
    clearInterval(alive)
  }
}

type Values = ReturnType<typeof parsed>['values']

async function handle(command: string | undefined, io: NodeIo, values: Values): Promise<void> {
  switch (command ?? '') {
    case 'join':
      return joinNode(io, joinOptions(values))
    case 'status': {
      const { path, state } = await nodeStatus(io, values)
      return print(
        state
          ? `Node ${state.node} of ${state.servers.join(', ')}, since ${state.joined_at}.`
          : `This machine has not joined: there is no ${path}.`,
      )
    }
    case 'leave': {
      const { node, servers } = await leaveNode(io, values)
      return print(`Node ${node} has left ${servers.join(', ')}.`)
    }
    default:
      throw new CommandError('usage', `${command ?? 'Nothing'} is no command: join, status or leave.`, {
        hint: '`node gw-node.mjs --help` shows them.',
      })
  }
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: true })
  } catch (error) {
    throw new CommandError('usage', `${text(error)}.`, { cause: error })
  }
}

function joinOptions({
  'token-file': tokenFile,
  'allow-address': allowAddress = false,
  'allow-plaintext': allowPlaintext = false,
  drain,
  ...same
}: Values): JoinOptions {
  const drainMs = drain === undefined ? undefined : parseDurationMs(drain)
  if (drain !== undefined && drainMs === undefined)
    throw new CommandError('usage', '`--drain` is a duration such as 30s.')
  return {
    ...same,
    allowAddress,
    allowPlaintext,
    ...(tokenFile !== undefined && { tokenFile }),
    ...(drainMs !== undefined && { drain: drainMs }),
  }
}

function nodeIo(signal: AbortSignal): NodeIo {
  return {
    environment: env,
    cwd: process.cwd(),
    clock: systemClock,
    random: systemRandom,
    signal,
    version: GW_VERSION,
    readStdin: async () => {
      const pieces: Buffer[] = []
      for await (const piece of process.stdin as AsyncIterable<Buffer>) pieces.push(piece)
      return Buffer.concat(pieces).toString('utf8')
    },
    info: print,
  }
}

/** To stderr, without control characters: the gateway has written parts of it. */
function print(line: string): void {
  process.stderr.write(`${line.replace(/[^\P{Cc}\n]/gu, '?')}\n`)
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
