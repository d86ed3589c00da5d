import { constants } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { CommandError, EXIT, type ExitCode } from '../../base/catalogue/command.ts'
import { GatheredLines } from '../../base/gathered-lines.ts'
import { isNetwork } from '../../base/ip-address.ts'
import { createLog, type Log } from '../../base/log.ts'
import { tlsProblems } from '../../base/tls-material.ts'
import { parseDurationMs, parseSizeBytes } from '../../base/units.ts'
import type { ListenAddress } from '../../http/listen.ts'
import type { ServeOptions, Serving } from '../../server/serving.ts'
import type { SupervisorLink } from '../../server/supervisor/cluster.ts'
import { LedgerThread } from '../../store/ledger/ledger-thread.ts'
import { listenAddress, socketsOf } from '../addresses.ts'
import { configPaths } from '../config-paths.ts'
import { newCommand } from '../new-command.ts'
import { problemsToText } from '../output/problems.ts'
import { announce } from '../output/serving-text.ts'
import type { BindHandler, Session } from '../session.ts'
import { gwVersion } from '../version.ts'

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

interface Options {
  readonly listen: string
  readonly controlListen: string
  readonly controlUrl?: URL
  readonly trustedProxies?: readonly string[]
  readonly console: boolean
  readonly gatewayOnly?: true
  readonly controlOnly?: true
  readonly drain: string
  readonly watch?: true
  readonly workers?: number
  readonly maxConnections?: string
  readonly nodeListen?: string
  readonly nodeTlsCert?: string
  readonly nodeTlsKey?: string
  readonly nodeClientCa?: string
  readonly uploadsFolder?: string
  readonly uploadsMax?: string
  readonly logLevel: (typeof LOG_LEVELS)[number]
}

const FILES = `
With -c the files are applied at the start, without confirmation and without probes. Invalid files, or files with too
many deletions, are rejected: the previous state is served, and /health has the reason. Changes of the store
(\`gw apply\`, \`gw keys\`, \`gw maintenance\`) take effect within a second in any case.

With --workers several processes serve the same address and share all limits. One that dies is replaced.

Signals:
  SIGHUP                   applies -c again, and reads the store and every secret again; with --workers it also replaces
                           them one by one, from the program on disk, without an interruption: \`gw restart\`
  SIGTERM, SIGINT          no new connections; ends after requests in flight, at most --drain; a second one ends at once
`

const ENVIRONMENT = `
Environment:
  METRICS_TOKEN                 the bearer token for GET /metrics of the gateway
  SERVICE_DOCS_ENABLED=true     serves /docs, /redoc and /openapi.json on the control plane, without authentication
  GW_MASTER_KEY                 encrypts credentials set over REST: 32 bytes in base64 or hexadecimal digits; by
                                default a file beside the store, created when needed; none beside PostgreSQL
  GW_STORE_DIRECT, GW_STORE_READ  of a store in PostgreSQL: the server behind a pooler, and a replica to read from
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY  the proxy to upstreams; \`proxy\` of an endpoint overrides it
  OTEL_EXPORTER_OTLP_ENDPOINT   sends traces to this collector; docs/operations.md has all OTEL_* variables
  GW_ADMIN_PASSWORD             creates the user admin with this password, if the control plane has no administrator
`

/** `gw serve`: serves until a signal, which is its ordinary end. */
export function serveCommand(bind: BindHandler): Command {
  return newCommand('serve', 'Serve the gateway and the control plane from the store.', [
    'gw serve',
    'gw serve -c ./config --watch   # applies the directory on each save',
    'gw serve --listen 0.0.0.0:8090 --control-listen 127.0.0.1:8080',
    'gw serve --gateway-only --store sqlite:/var/lib/gw/gw.db',
    'gw serve --store postgres://gw@db.example.com/gw   # the password from PGPASSWORD, see docs/scaling.md',
    'gw serve --workers auto   # a process for each core',
  ])
    .option('--listen <host:port>', 'address of the gateway, or systemd:NAME', '127.0.0.1:8090')
    .option('--control-listen <host:port>', 'address of the control plane', '127.0.0.1:8080')
    .option(
      '--control-url <url>',
      'its public URL behind a TLS proxy: https://gw.example.com',
      parseControlUrl,
    )
    .option(
      '--trusted-proxies <list>',
      'proxies in front of the control plane that report client addresses: 10.0.0.0/8,::1',
      parseProxies,
    )
    .option('--no-console', 'do not serve the web console')
    .option('--node-listen <host:port>', 'address where nodes dial in (off by default)')
    .option('--node-tls-cert <path>', 'PEM of its certificate, with the chain')
    .option('--node-tls-key <path>', 'PEM of the private key')
    .option('--node-client-ca <path>', 'PEM of authorities: nodes must show a certificate of theirs')
    .option('--watch', 'apply -c on each save')
    .option('--gateway-only', 'no control plane in this process')
    .option('--control-only', 'no gateway in this process')
    .option('--workers <n>', 'serve with so many processes; auto: one for each core', parseWorkers)
    .option('--drain <duration>', 'how long requests in flight may continue after SIGTERM', '30s')
    .option(
      '--max-connections <n>',
      'concurrent connections (default: by the limit of open files, up to 20000)',
    )
    .option('--uploads-folder <path>', 'where long uploads wait (default: the folder for temporary files)')
    .option('--uploads-max <size>', 'all uploads that wait there together (default: 1GiB)')
    .addOption(
      new Option('--log-level <level>', 'the lowest level that is logged')
        .choices(LOG_LEVELS)
        .default('info'),
    )
    .addHelpText('after', FILES + ENVIRONMENT)
    .action(bind<Options>(handler))
}

async function handler(session: Session, _args: readonly string[], options: Options): Promise<ExitCode> {
  const { io, out } = session
  const drainMs = parseDurationMs(options.drain)
  if (drainMs === undefined) {
    throw new CommandError('usage', `\`--drain ${options.drain}\` is not a duration.`, {
      hint: 'Write 30s or 1m30s.',
    })
  }
  if (options.gatewayOnly && options.controlOnly) {
    throw new CommandError('usage', '`--gateway-only` and `--control-only` exclude each other.')
  }
  if (options.controlOnly && options.workers !== undefined) {
    throw new CommandError('usage', '`--control-only` has no workers.')
  }
  if (options.nodeListen !== undefined && options.workers !== undefined) {
    throw new CommandError('usage', '`--node-listen` and `--workers` exclude each other.', {
      hint: 'A node dials in to one process: leave out --workers, or start several gateways, each with its own --node-listen.',
    })
  }
  // Stdout is the log, one JSON object per line, and so is a final error.
  out.lines()
  const isRead = io.stdout.isTTY === true
  const pretty = out.format === 'text' && isRead
  const lines = new GatheredLines(text => void io.stdout.write(text), io.clock)
  const log = createLog(isRead ? { write: line => void io.stdout.write(line) } : lines, {
    level: options.logLevel,
    pretty: pretty && (await import('../../base/readable-lines.ts')).readableLines,
    colour: out.style.colour,
  })
  const settings = { drainMs, log, pretty }
  try {
    const { workers } = options
    if (workers === undefined) return await serveUntilSignal(session, options, settings)
    const { isWorker, SupervisorLink } = await import('../../server/supervisor/cluster.ts')
    if (!isWorker()) {
      const { gateway: _gateway, ...own } = await serveOptions(session, options)
      const sockets = socketsOf({ environment: io.environment, pid: process.pid })
      const { superviseUntilSignal } = await import('./supervise.ts')
      return await superviseUntilSignal(session, { ...settings, own, workers, sockets })
    }
    const link = new SupervisorLink()
    try {
      return await serveUntilSignal(session, options, settings, link)
    } finally {
      link.close()
    }
  } finally {
    lines.flush()
  }
}

/** How long the command may take to end after all is closed. */
const EXIT_MS = 100

interface Settings {
  readonly drainMs: number
  readonly log: Log
  readonly pretty: boolean
}

/** @param link This process is a worker: what its supervisor has inherited, it shares. */
async function serveOptions(
  session: Session,
  options: Options,
  link?: SupervisorLink,
): Promise<ServeOptions> {
  const files = followed(session, options)
  const { environment } = session.io
  const pid = link?.supervisorPid ?? process.pid
  const addressOf = (text: string) => listenAddress(text, { environment, pid })
  const token = session.io.environment['METRICS_TOKEN']
  return {
    store: session.flags.store,
    version: gwVersion(),
    ...(files && { files }),
    ...(options.maxConnections !== undefined && { maxConnections: parseCount(options.maxConnections) }),
    uploads: await uploadsOf(session, options),
    ...(!options.controlOnly && { gateway: addressOf(options.listen) }),
    ...(!options.gatewayOnly && { control: addressOf(options.controlListen) }),
    ...(!options.console && { noConsole: true }),
    ...(options.nodeListen !== undefined && {
      nodes: await nodeListenOf(session, options, addressOf(options.nodeListen)),
    }),
    ...(options.controlUrl && { controlUrl: options.controlUrl }),
    ...(options.trustedProxies && { trustedProxies: options.trustedProxies }),
    ...(token !== undefined && { metrics: { token, version: gwVersion() } }),
  }
}

/** The part of the options that a worker serves. */
function forWorker({ files, control: _control, ...rest }: ServeOptions, link: SupervisorLink): ServeOptions {
  const { supervisorPid } = link
  return { ...rest, worker: { supervisorPid, peers: () => link.peers, ...(files && { follows: files }) } }
}

/** @param link This process is a worker. */
async function serveUntilSignal(
  session: Session,
  options: Options,
  { drainMs, log, pretty }: Settings,
  link?: SupervisorLink,
): Promise<ExitCode> {
  const { io, out, signal } = session
  const all = await serveOptions(session, options, link)
  const wanted = link ? forWorker(all, link) : all
  signal.throwIfAborted()
  const { environment, cwd, clock, random } = io
  const started = Promise.withResolvers<Serving>()
  session.onHangup(() => {
    // The supervisor has the signal as well if a terminal sent it.
    if (link) return
    log.info({ signal: 'SIGHUP' }, 'reloading')
    // During the start it waits: files and secrets may have been read before the signal.
    started.promise
      .then(serving => serving.reload())
      .catch((error: unknown) => log.error({ err: error }, 'reloading'))
  })
  // Starts while the gateway modules are loaded.
  const ledgerThread = wanted.gateway && new LedgerThread()
  const { serve } = await import('../../server/serve.ts')
  const serving = await serve(wanted, {
    environment,
    cwd,
    clock,
    random,
    log,
    ...(ledgerThread && { ledgerThread }),
    ...(link && { reasons: () => link.reasons() }),
    signal,
    // Log lines have no code frames; a terminal shows them.
    onFilesRejected: ({ problems }) => {
      if (pretty) out.info(problemsToText(problems, out.format, out.infoStyle).trimEnd())
    },
  })
  started.resolve(serving)
  const { gatewayUrl, peer, revision } = serving
  if (link && gatewayUrl && peer) link.serving({ url: gatewayUrl, peer, revision })
  if (!link) announce(out, serving)
  const stopped = new Promise<undefined>(resolve => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  const failure = await Promise.race([stopped, serving.failed, ...(link ? [link.drained] : [])])
  if (failure) {
    out.info(`Stopping: ${failure.error.message}.`)
    await serving.close(failure.canBill ? drainMs : 0)
    throw failure.error
  }
  if (!link) out.info(`Stopping: requests in flight have ${options.drain}.`)
  await serving.close(drainMs)
  // After the command has ended and set its exit code.
  if (serving.isExporting) io.clock.after(EXIT_MS, () => io.exit())
  return EXIT.done
}

/** The files to apply: those of `-c`, or with only `--watch` the default ones. @throws {CommandError} usage */
function followed(session: Session, options: Options): ServeOptions['files'] {
  const watch = options.watch === true
  if (!watch && session.flags.config.length === 0) return undefined
  const paths = configPaths(session)
  if (!paths.includes('-')) return { paths, watch }
  throw new CommandError('usage', '`gw serve` reads files repeatedly, and stdin can be read only once.', {
    hint: 'Name a file or a directory with -c, or pipe into `gw apply -c -`.',
  })
}

/** @throws {CommandError} usage */
async function nodeListenOf(
  { io }: Session,
  { nodeTlsCert, nodeTlsKey, nodeClientCa, controlOnly }: Options,
  address: ListenAddress,
): Promise<NonNullable<ServeOptions['nodes']>> {
  if (controlOnly) throw new CommandError('usage', '`--node-listen` needs a gateway in this process.')
  const read = async (flag: string, path: string): Promise<string> => {
    try {
      return await readFile(resolve(io.cwd, path), 'utf8')
    } catch (error) {
      throw new CommandError('usage', `${flag} cannot be read: ${path}.`, { cause: error })
    }
  }
  if ((nodeTlsCert === undefined) !== (nodeTlsKey === undefined))
    throw new CommandError('usage', '`--node-tls-cert` and `--node-tls-key` belong together.')
  if (nodeTlsCert === undefined || nodeTlsKey === undefined) {
    if (nodeClientCa === undefined) return address
    throw new CommandError('usage', '`--node-client-ca` needs `--node-tls-cert`.')
  }
  const pem = {
    ca: nodeClientCa === undefined ? undefined : await read('--node-client-ca', nodeClientCa),
    cert: await read('--node-tls-cert', nodeTlsCert),
    key: await read('--node-tls-key', nodeTlsKey),
  }
  const [problem] = tlsProblems(pem)
  if (problem !== undefined) throw new CommandError('usage', `The certificate for nodes: ${problem}.`)
  const { cert, key, ca } = pem
  return { ...address, tls: { cert, key, ...(ca !== undefined && { clientCa: ca }) } }
}

/** @throws {CommandError} usage */
async function uploadsOf(
  { io }: Session,
  { uploadsFolder, uploadsMax }: Options,
): Promise<NonNullable<ServeOptions['uploads']>> {
  const folder = uploadsFolder === undefined ? undefined : resolve(io.cwd, uploadsFolder)
  if (folder !== undefined) await checkWritable(folder)
  if (uploadsMax === undefined) return { ...(folder !== undefined && { folder }) }
  const capacityBytes = parseSizeBytes(uploadsMax)
  if (capacityBytes === undefined) {
    throw new CommandError('usage', `\`--uploads-max ${uploadsMax}\` is not a size.`, {
      hint: 'Write a number and a unit, such as 4GiB.',
    })
  }
  return { capacityBytes, ...(folder !== undefined && { folder }) }
}

/** Now, not at the first upload. @throws {CommandError} usage */
async function checkWritable(folder: string): Promise<void> {
  try {
    await access(folder, constants.W_OK | constants.X_OK)
    if ((await stat(folder)).isDirectory()) return
  } catch {
    // The error below says it.
  }
  throw new CommandError('usage', `\`--uploads-folder ${folder}\` is not a folder that can be written.`)
}

/** Beyond 63 a restart would need more lanes than a store has. */
const MAX_WORKERS = 60

function parseWorkers(text: string): number {
  if (text === 'auto') return Math.min(availableParallelism(), MAX_WORKERS)
  if (/^[1-9]\d?$/.test(text) && Number(text) <= MAX_WORKERS) return Number(text)
  throw new InvalidArgumentError(`Write a number from 1 to ${MAX_WORKERS}, or auto.`)
}

function parseCount(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw new CommandError('usage', `\`--max-connections ${text}\` is not a number of connections.`, {
    hint: 'Write a whole number from 1, such as 20000.',
  })
}

function parseProxies(text: string): readonly string[] {
  const proxies = text.split(',').map(proxy => proxy.trim())
  if (proxies.every(isNetwork)) return proxies
  throw new InvalidArgumentError('Write addresses and networks, such as 10.0.0.0/8,::1.')
}

/** Sessions of browsers are bound to it, so it is only an origin. */
function parseControlUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url
  throw new InvalidArgumentError('Write https:// and a host, without a path.')
}
