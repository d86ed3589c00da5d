import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { type AgentEvent, runAgent } from '../../agent/agent.ts'
import { GatewayRejection, join as joinGateway, leave, type Server } from '../../agent/dial.ts'
import type { EngineAddress } from '../../agent/engine.ts'
import { discoverEngines, EngineOptionError, engineAddress } from '../../agent/engine-addresses.ts'
import { type NodeState, readState, removeState, StateFileError, writeState } from '../../agent/state-file.ts'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { iso } from '../../base/iso.ts'
import { isJoinToken } from '../../base/node-secrets.ts'
import { type Io, readStdin } from '../io.ts'
import { keepProcessAlive } from '../keep-process-alive.ts'
import { newCommand } from '../new-command.ts'
import { printable } from '../output/style.ts'
import type { BindHandler, Session } from '../session.ts'
import { durationArgument } from '../time-argument.ts'
import { gwVersion } from '../version.ts'

const DEFAULT_DRAIN_MS = 30_000

/** `gw node`: this machine as a node. */
export function nodeCommand(bind: BindHandler): Command {
  return newCommand('node', 'Serve models of this machine through a gateway that it dials.', [
    'gw node join --server https://gw:8095 --name gpu-7 --engine http://127.0.0.1:8000 --token-file ./token',
    'gw node status',
    'gw node leave',
  ])
    .addCommand(joinCommand(bind))
    .addCommand(statusCommand(bind))
    .addCommand(leaveCommand(bind))
}

interface TrustOptions {
  readonly state?: string
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

interface JoinOptions extends TrustOptions {
  readonly server?: string
  readonly name?: string
  readonly tokenFile?: string
  readonly engine?: readonly string[]
  readonly discover?: true
  readonly allowAddress?: true
  readonly allowPlaintext?: true
  readonly drain?: number
}

const JOIN_HELP = `
The first time, a join token of \`gw nodes token\` is exchanged for a credential: from --token-file, from stdin with
\`--token-file -\`, or from GW_JOIN_TOKEN. Later the credential in --state is used, and no token is needed.

Signals:
  SIGTERM, SIGINT          takes no new calls; ends after those in flight, at most --drain
Exit codes:
  4                        the gateway rejects this node: its credential, its name or its version
`

function joinCommand(bind: BindHandler): Command {
  const command = newCommand('join', 'Join a gateway, and serve until a signal.', [
    'gw node join --server https://gw:8095 --name gpu-7 --engine http://127.0.0.1:8000 --token-file ./token',
    'gw node join --engine vllm=http://127.0.0.1:8000 --engine embed=http://127.0.0.1:8001',
    'gw node join --discover',
  ])
    .option('--server <url>', 'the address of `gw serve --node-listen`; needed for the first join')
    .option('--name <name>', 'the name of this node; needed for the first join')
    .option('--token-file <path>', 'a file with the join token, or - for stdin')
    .option('--engine <[name=]url>', 'a model server of this machine; repeatable', collect)
    .option('--discover', 'offer the model servers that answer on their usual ports')
    .option('--allow-address', 'engines may be on other machines')
    .option('--allow-plaintext', 'a gateway on another machine may be reached without TLS')
    .option(
      '--drain <duration>',
      'how long calls in flight may continue after SIGTERM (default: 30s)',
      durationArgument,
    )
  return withTrust(command).addHelpText('after', JOIN_HELP).action(bind<JoinOptions>(handleJoin))
}

async function handleJoin(session: Session, _args: readonly string[], options: JoinOptions) {
  const { io, out, signal } = session
  const path = statePath(io, options.state)
  const before = await known(path)
  if (before) assertSame(before, path, options)
  const state = before ?? (await joined(session, path, options))
  const server = await serverOf(io, state.server, options)
  const engines = await enginesOf(options)
  signal.throwIfAborted()
  try {
    // Between two connections only a timer runs.
    await keepProcessAlive(
      runAgent({
        server,
        credential: state.credential,
        engines,
        clock: io.clock,
        random: io.random,
        version: gwVersion(),
        signal,
        drainMs: options.drain ?? DEFAULT_DRAIN_MS,
        onEvent: event => out.info(printable(eventText(state, event))),
      }),
    )
  } catch (error) {
    throw asCommandError(error)
  }
  return EXIT.done
}

/** A machine that has joined stays what it is until it leaves. @throws {CommandError} usage */
function assertSame(state: NodeState, path: string, { server, name }: JoinOptions): void {
  const isOther = server !== undefined && URL.canParse(server) && new URL(server).href !== state.server
  if (!isOther && (name === undefined || name === state.node)) return
  throw new CommandError(
    'usage',
    `This machine is node ${state.node} of ${state.server} already (${path}).`,
    {
      hint: '`gw node leave` ends that; for a second node pass another --state.',
    },
  )
}

/** Exchanges the join token. */
async function joined(session: Session, path: string, options: JoinOptions): Promise<NodeState> {
  const { io, out } = session
  const { server: url, name } = options
  if (url === undefined || name === undefined) {
    throw new CommandError(
      'usage',
      'This machine has not joined yet: pass --server, --name and a join token.',
      {
        hint: '`gw nodes token NAME` on the gateway prints one.',
      },
    )
  }
  const server = await serverOf(io, url, options)
  const token = (await tokenOf(session, options)).trim()
  if (!isJoinToken(token)) {
    throw new CommandError('usage', 'That is no join token.', {
      hint: 'Give the output of `gw nodes token NAME` by --token-file, by stdin with `--token-file -`, or in GW_JOIN_TOKEN.',
    })
  }
  try {
    const { node, credential } = await joinGateway(server, token, name)
    const state = { server: server.url.href, node, credential, joined_at: iso(io.clock.nowMs()) }
    await writeState(path, state)
    out.info(`Joined as ${printable(node)}; the credential is in ${path}.`)
    return state
  } catch (error) {
    throw asCommandError(error)
  }
}

function statusCommand(bind: BindHandler): Command {
  return withState(
    newCommand('status', 'Show whether this machine has joined, and where.', ['gw node status']),
  ).action(
    bind<TrustOptions>(async ({ io, out }, _args, options) => {
      const path = statePath(io, options.state)
      const state = await known(path)
      const shown = state
        ? { joined: true, node: state.node, server: state.server, joined_at: state.joined_at }
        : { joined: false }
      out.result({
        text: () =>
          state
            ? `Node ${printable(state.node)} of ${printable(state.server)}, since ${printable(state.joined_at)}.\n`
            : `This machine has not joined: there is no ${path}.\n`,
        json: () => shown,
      })
      return EXIT.done
    }),
  )
}

function leaveCommand(bind: BindHandler): Command {
  return withTrust(
    newCommand('leave', 'End the credential of this machine, and delete it.', ['gw node leave']),
  ).action(
    bind<TrustOptions>(async ({ io, out, signal }, _args, options) => {
      const path = statePath(io, options.state)
      const state = await known(path)
      if (!state) throw new CommandError('not_found', `This machine has not joined: there is no ${path}.`)
      signal.throwIfAborted()
      try {
        await leave(await serverOf(io, state.server, options), state.credential)
      } catch (error) {
        // Revoked before: nothing is left to end.
        if (!(error instanceof GatewayRejection && error.status === 401)) throw asCommandError(error)
      }
      await removeState(path)
      out.result({
        text: () => `Node ${printable(state.node)} has left ${printable(state.server)}.\n`,
        json: () => ({ node: state.node, left: true }),
      })
      return EXIT.done
    }),
  )
}

function withTrust(command: Command): Command {
  return withState(command)
    .option('--ca <path>', 'PEM of the authorities that sign the certificate of the gateway')
    .option('--cert <path>', 'PEM of a client certificate, if the gateway demands one')
    .option('--key <path>', 'PEM of its private key')
}

function withState(command: Command): Command {
  return command.option('--state <path>', 'the file with the credential (default: gw/node.json in ~/.config)')
}

function statePath({ environment, cwd }: Io, path: string | undefined): string {
  if (path !== undefined) return resolve(cwd, path)
  const { XDG_CONFIG_HOME: config, HOME: home } = environment
  if (!config && !home) {
    throw new CommandError('usage', 'HOME is not set: there is no place for the credential.', {
      hint: 'Pass --state PATH.',
    })
  }
  return join(config || join(home ?? '', '.config'), 'gw', 'node.json')
}

async function known(path: string): Promise<NodeState | undefined> {
  try {
    return await readState(path)
  } catch (error) {
    if (!(error instanceof StateFileError)) throw error
    throw new CommandError('usage', error.message, {
      hint: `\`chmod 600 ${path}\` if it is right; revoke the node if others may have read it.`,
    })
  }
}

/** @throws {CommandError} usage */
async function serverOf(
  { cwd }: Io,
  text: string,
  { ca, cert, key, allowPlaintext }: TrustOptions & { readonly allowPlaintext?: true },
): Promise<Server> {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
    throw new CommandError('usage', `${text} is no address of a gateway.`, {
      hint: 'Write https:// with host and port, without a path.',
    })
  }
  const isLocal = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
  if (url.protocol === 'http:' && !isLocal && !allowPlaintext) {
    throw new CommandError('usage', 'Without TLS others could read the credential and all calls.', {
      hint: 'Write https://, or pass --allow-plaintext if the network is trusted.',
    })
  }
  if ((cert === undefined) !== (key === undefined))
    throw new CommandError('usage', '`--cert` and `--key` belong together.')
  const read = (path: string | undefined) =>
    path === undefined ? undefined : readFile(resolve(cwd, path), 'utf8')
  return { url, ca: await read(ca), cert: await read(cert), key: await read(key) }
}

async function tokenOf({ io, signal }: Session, { tokenFile }: JoinOptions): Promise<string> {
  if (tokenFile === '-') return (await readStdin(io, signal)).toString('utf8')
  if (tokenFile !== undefined) return readFile(resolve(io.cwd, tokenFile), 'utf8')
  return io.environment['GW_JOIN_TOKEN'] ?? ''
}

/** @throws {CommandError} usage */
async function enginesOf({
  engine = [],
  discover,
  allowAddress,
}: JoinOptions): Promise<readonly EngineAddress[]> {
  const engines: EngineAddress[] = []
  try {
    for (const text of engine) engines.push(await engineAddress(text, allowAddress === true))
  } catch (error) {
    if (error instanceof EngineOptionError) throw new CommandError('usage', `--engine: ${error.message}`)
    throw error
  }
  if (discover) engines.push(...(await discoverEngines()))
  const names = engines.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) {
    throw new CommandError('usage', `Two engines are called ${twice}.`, {
      hint: 'Name them: `--engine NAME=URL`.',
    })
  }
  if (engines.length > 0) return engines
  throw new CommandError('usage', 'This node offers no engine.', {
    hint: 'Pass `--engine http://127.0.0.1:8000`, or `--discover` while a model server runs.',
  })
}

function eventText({ node, server }: NodeState, event: AgentEvent): string {
  switch (event.type) {
    case 'connected':
      return `Node ${node} is connected to ${server}.`
    case 'disconnected':
      return `Disconnected: ${event.reason}.`
    case 'unreachable':
      return `Not connected (${event.reason}); next attempt in ${(event.retryMs / 1_000).toFixed(1)} s.`
    case 'engines':
      return `Engines: ${event.engines.map(({ name, state, models }) => `${name} is ${state}${models.length > 0 ? ` with ${models.join(', ')}` : ''}`).join('; ')}.`
    case 'notice':
      return `The gateway says: ${event.code}.`
  }
}

function asCommandError(error: unknown): unknown {
  if (!(error instanceof GatewayRejection)) {
    if (!(error instanceof Error) || error instanceof CommandError) return error
    return new CommandError('node_unreachable', `The gateway cannot be reached: ${error.message}.`, {
      cause: error,
    })
  }
  return new CommandError('node_rejected', error.message, { cause: error })
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}
