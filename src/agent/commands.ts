import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { CommandError } from '../base/catalogue/command.ts'
import type { Clock } from '../base/clock.ts'
import { iso } from '../base/iso.ts'
import { isJoinToken } from '../base/node-secrets.ts'
import type { Random } from '../base/random.ts'
import { type AgentEvent, runAgent } from './agent.ts'
import {
  CARRIERS,
  type CarrierKind,
  GatewayRejection,
  join as joinGateway,
  leave,
  type Server,
} from './dial.ts'
import type { EngineAddress } from './engine.ts'
import { discoverEngines, EngineOptionError, engineAddress, USUAL_PORTS } from './engine-addresses.ts'
import {
  assertWritable,
  type NodeState,
  readState,
  removeState,
  StateFileError,
  writeState,
} from './state-file.ts'

/** What `gw node` and the single file `gw-node.mjs` do. */

const DEFAULT_DRAIN_MS = 30_000

/** The environment of a command. */
export interface NodeIo {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Absolute. */
  readonly cwd: string
  readonly clock: Clock
  readonly random: Random
  readonly signal: AbortSignal
  /** The version of gw. */
  readonly version: string
  readonly readStdin: () => Promise<string>
  /** Prints a line; it may hold what the gateway said. */
  readonly info: (line: string) => void
}

/** How to trust the gateway, and where the credential is. */
export interface TrustOptions {
  readonly state?: string
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

export interface JoinOptions extends TrustOptions {
  /** Gateways over one store. */
  readonly server?: readonly string[]
  readonly name?: string
  readonly tokenFile?: string
  readonly engine?: readonly string[]
  readonly discover?: boolean
  readonly allowAddress?: boolean
  readonly allowPlaintext?: boolean
  /** `auto` by default. */
  readonly carrier?: string
  /** Milliseconds. */
  readonly drain?: number
}

/** Joins if the machine has not yet, and serves until the signal. @throws {CommandError} */
export async function joinNode(io: NodeIo, options: JoinOptions): Promise<void> {
  const path = statePath(io, options.state)
  const before = await known(path)
  const state = before ? await kept(before, path, options) : await joined(io, path, options)
  const servers = await serversOf(io, state.servers, options)
  const engines = await enginesOf(options)
  const carrier = carrierOf(options)
  io.signal.throwIfAborted()
  try {
    await runAgent({
      servers,
      credential: state.credential,
      engines,
      clock: io.clock,
      random: io.random,
      version: io.version,
      signal: io.signal,
      carrier,
      drainMs: options.drain ?? DEFAULT_DRAIN_MS,
      onCredential: credential => writeState(path, { ...state, credential }),
      onEvent: event => io.info(eventText(state, event)),
    })
  } catch (error) {
    throw asCommandError(error)
  }
}

/** Where this machine has joined, if it has. @throws {CommandError} */
export async function nodeStatus(
  io: NodeIo,
  options: TrustOptions,
): Promise<{ readonly path: string; readonly state?: NodeState }> {
  const path = statePath(io, options.state)
  const state = await known(path)
  return { path, ...(state && { state }) }
}

/** Ends the credential, and deletes it. @throws {CommandError} */
export async function leaveNode(io: NodeIo, options: TrustOptions): Promise<NodeState> {
  const path = statePath(io, options.state)
  const state = await known(path)
  if (!state) throw new CommandError('not_found', `This machine has not joined: there is no ${path}.`)
  io.signal.throwIfAborted()
  await firstOf(await serversOf(io, state.servers, options), async server => {
    try {
      await leave(server, state.credential)
    } catch (error) {
      // Revoked before: nothing is left to end.
      if (!(error instanceof GatewayRejection && error.isOfGateway && error.status === 401)) throw error
    }
  })
  await removeState(path)
  return state
}

/** A machine that has joined stays what it is until it leaves; only its list of gateways may change. @throws {CommandError} usage */
async function kept(state: NodeState, path: string, { server = [], name }: JoinOptions): Promise<NodeState> {
  const servers = server.map(text => (URL.canParse(text) ? new URL(text).href : text))
  const isOther = servers.length > 0 && !servers.some(each => state.servers.includes(each))
  if (isOther || (name !== undefined && name !== state.node)) {
    throw new CommandError(
      'usage',
      `This machine is node ${state.node} of ${state.servers.join(', ')} already (${path}).`,
      { hint: '`gw node leave` ends that; for a second node pass another --state.' },
    )
  }
  if (servers.length === 0 || servers.join(' ') === state.servers.join(' ')) return state
  const changed = { ...state, servers }
  await writeState(path, changed)
  return changed
}

/** Exchanges the join token. */
async function joined(io: NodeIo, path: string, options: JoinOptions): Promise<NodeState> {
  const { server: urls = [], name } = options
  if (urls.length === 0 || name === undefined) {
    throw new CommandError(
      'usage',
      'This machine has not joined yet: pass --server, --name and a join token.',
      {
        hint: '`gw nodes token NAME` on the gateway prints one.',
      },
    )
  }
  const servers = await serversOf(io, urls, options)
  const token = (await tokenOf(io, options)).trim()
  if (!isJoinToken(token)) {
    throw new CommandError('usage', token === '' ? 'A join token is needed.' : 'That is no join token.', {
      hint: 'Give the output of `gw nodes token NAME` by --token-file, by stdin with `--token-file -`, or in GW_JOIN_TOKEN.',
    })
  }
  // First: a token can be used once, and its credential is sent once.
  await assertWritable(path).catch((error: unknown) => {
    if (!(error instanceof StateFileError)) throw error
    throw new CommandError('usage', error.message, {
      hint: 'Pass --state with a file in a folder of this user; the join token was not used.',
    })
  })
  const { node, credential } = await firstOf(servers, server => joinGateway(server, token, name))
  const state = {
    servers: servers.map(({ url }) => url.href),
    node,
    credential,
    joined_at: iso(io.clock.nowMs()),
  }
  await writeState(path, state)
  io.info(`Joined as ${node}; the credential is in ${path}.`)
  return state
}

/** The result of the first gateway that can be reached. @throws {CommandError} */
async function firstOf<T>(servers: readonly Server[], work: (server: Server) => Promise<T>): Promise<T> {
  let failure: unknown
  for (const server of servers) {
    try {
      return await work(server)
    } catch (error) {
      failure = error
      if (error instanceof GatewayRejection && error.isOfGateway) break
    }
  }
  throw asCommandError(failure)
}

function statePath({ environment, cwd }: NodeIo, path: string | undefined): string {
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
function serversOf(io: NodeIo, texts: readonly string[], options: JoinOptions): Promise<readonly Server[]> {
  return Promise.all(texts.map(text => serverOf(io, text, options)))
}

/** @throws {CommandError} usage */
async function serverOf(
  { cwd }: NodeIo,
  text: string,
  { ca, cert, key, allowPlaintext }: Pick<JoinOptions, 'ca' | 'cert' | 'key' | 'allowPlaintext'>,
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
  const read = (flag: string, path: string | undefined) =>
    path === undefined ? undefined : readText(cwd, flag, path)
  return {
    url,
    ca: await read('--ca', ca),
    cert: await read('--cert', cert),
    key: await read('--key', key),
  }
}

/** @throws {CommandError} usage */
async function readText(cwd: string, flag: string, path: string): Promise<string> {
  try {
    return await readFile(resolve(cwd, path), 'utf8')
  } catch (error) {
    const reason = (error as Error).message
    throw new CommandError('usage', `${flag} cannot be read: ${reason}.`, { cause: error })
  }
}

/** Empty without a token. @throws {CommandError} usage */
async function tokenOf(io: NodeIo, { tokenFile }: JoinOptions): Promise<string> {
  if (tokenFile === '-') return io.readStdin()
  if (tokenFile !== undefined) return readText(io.cwd, '--token-file', tokenFile)
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
  if (discover) engines.push(...(await discoverEngines(USUAL_PORTS)))
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

/** Undefined: chosen at run time. @throws {CommandError} usage */
function carrierOf({ carrier = 'auto' }: JoinOptions): CarrierKind | undefined {
  if (carrier === 'auto') return undefined
  const found = CARRIERS.find(kind => kind === carrier)
  if (found) return found
  throw new CommandError('usage', `\`--carrier ${carrier}\` is none of auto, ${CARRIERS.join(', ')}.`)
}

function eventText({ node }: NodeState, event: AgentEvent): string {
  switch (event.type) {
    case 'connected':
      return `Node ${node} is connected to ${event.server.origin}${event.carrier === 'websocket' ? ' by WebSocket' : ''}.`
    case 'disconnected':
      return `Disconnected from ${event.server.origin}: ${event.reason}.`
    case 'unreachable':
      return `Not connected to ${event.server.origin} (${event.reason}); next attempt in ${(event.retryMs / 1_000).toFixed(1)} s.`
    case 'engines':
      return `Engines: ${event.engines.map(({ name, state, models }) => `${name} is ${state}${models.length > 0 ? ` with ${models.join(', ')}` : ''}`).join('; ')}.`
    case 'rotated':
      return 'The credential was renewed.'
    case 'not_rotated':
      return `The new credential cannot be stored: ${event.reason}.`
    case 'notice':
      return `${event.server.origin} says: ${event.code}.`
  }
}

/** A service that restarts its node must do so after these, and not after other rejections: their exit codes differ. */
function isTemporary({ status }: GatewayRejection): boolean {
  return status === 429 || status >= 500
}

function asCommandError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof CommandError) return error
  if (error instanceof GatewayRejection && error.isOfGateway && !isTemporary(error))
    return new CommandError('node_rejected', error.message, { cause: error })
  const message =
    error instanceof GatewayRejection ? error.message : `The gateway cannot be reached: ${error.message}.`
  return new CommandError('node_unreachable', message, { cause: error })
}
