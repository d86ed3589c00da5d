import { cpSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gwProcess, startGw } from '../cli/process.ts'
import { freePort } from '../support/free-port.ts'
import { tempDir } from '../support/temp-dir.ts'
import type { WhenOver } from '../support/when-over.ts'

export const PASSWORD = 'correct horse battery'
const EXAMPLE = fileURLToPath(new URL('../../config.example', import.meta.url))

/** Nodes beside the example, and an endpoint on them. */
const NODES = `version: 1
nodes:
  gpu-7: { labels: { pool: h100 }, engines: [demo] }
  gpu-8: { labels: { pool: h100 } }
endpoints:
  qwen:
    protocol: openai
    served_model: demo-chat
    nodes: { labels: { pool: h100 }, engine: demo }
    max_concurrency_per_node: 64
publications:
  qwen: { price: { input: 0.5, output: 1 }, bindings: [{ endpoint: qwen }] }
`

/** A real `gw serve` with the demo upstream, in processes of their own. */
export interface ServedConsole {
  readonly controlUrl: string
  readonly gatewayUrl: string
  readonly demoUrl: string
  /** Where nodes dial in. */
  readonly nodesUrl: string
  /** Where `config` is, which the store was filled from, if it was. */
  readonly folder: string
  /** Runs a command over the same store. Returns what it prints. */
  readonly gw: (...argv: readonly string[]) => Promise<string>
  /** Adds a user of a tenant, with the same password. */
  readonly addUser: (name: string, tenant: string) => Promise<void>
  /** Starts a node with the demo upstream as its engine `demo`. Without a token it makes one. */
  readonly joinNode: (name: string, token?: string) => Promise<void>
  /** Ends the gateway, and starts it again at the same addresses. */
  readonly restart: () => Promise<void>
}

const READY_MS = 30_000

/** Where commands over the store of a scene run. */
export interface SceneWorld {
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
}

export interface ConsoleOptions {
  /** The store has nothing but the administrator `admin`. */
  readonly isEmpty?: boolean
  /** A file beside the example. */
  readonly more?: string
  /** Fills the store in place of `gw apply`. */
  readonly apply?: (world: SceneWorld) => Promise<void>
}

export async function serveConsole(
  whenOver: WhenOver,
  { isEmpty = false, more = '', apply }: ConsoleOptions = {},
): Promise<ServedConsole> {
  const { path: cwd } = tempDir(whenOver)
  const ports = [await freePort(), await freePort(), await freePort(), await freePort()] as const
  const [control, gateway, , nodes] = ports
  const [controlUrl, gatewayUrl, demoUrl, nodesUrl] = ports.map(port => `http://127.0.0.1:${port}`) as [
    string,
    string,
    string,
    string,
  ]
  const environment = {
    GW_STORE: 'sqlite:gw.db',
    GW_DEMO_URL: demoUrl,
    METRICS_TOKEN: 'for-the-rates',
    GW_ADMIN_PASSWORD: PASSWORD,
  }
  const gw = async (...argv: readonly string[]) => {
    const { exit, stdout, stderr } = await gwProcess(argv, { cwd, environment })
    if (exit !== 0 && exit !== 2) throw new Error(`gw ${argv.join(' ')}: ${stderr}${stdout}`)
    return stdout
  }
  const start = (argv: readonly string[]) => {
    const started = startGw(argv, { cwd, environment })
    const end = async () => {
      started.child.kill('SIGTERM')
      await started.ended
    }
    return { ...started, end }
  }
  const upstream = start(['demo-upstream', '--listen', demoUrl.slice('http://'.length)])
  whenOver(upstream.end)
  if (isEmpty) {
    const argv = ['users', 'create', 'admin', '--role', 'admin', '--password', '-']
    await gwProcess(argv, { cwd, environment, stdin: PASSWORD })
  } else {
    cpSync(EXAMPLE, `${cwd}/config`, { recursive: true })
    writeFileSync(`${cwd}/config/nodes.yaml`, NODES)
    if (more !== '') writeFileSync(`${cwd}/config/more.yaml`, more)
    if (apply) await apply({ cwd, environment })
    else await gw('apply', '-c', 'config', '--yes', '--no-input')
  }
  const serve = () =>
    start([
      'serve',
      '--listen',
      `127.0.0.1:${gateway}`,
      '--control-listen',
      `127.0.0.1:${control}`,
      '--node-listen',
      `127.0.0.1:${nodes}`,
      '--drain',
      '1s',
    ])
  let serving = serve()
  whenOver(() => serving.end())
  await answers(`${controlUrl}/health`)
  return {
    controlUrl,
    gatewayUrl,
    demoUrl,
    nodesUrl,
    folder: cwd,
    gw,
    async addUser(name, tenant) {
      const argv = ['users', 'create', name, '--tenant', tenant, '--password', '-']
      const { exit, stderr } = await gwProcess(argv, { cwd, environment, stdin: PASSWORD })
      if (exit !== 0) throw new Error(stderr)
    },
    async joinNode(name, token) {
      writeFileSync(`${cwd}/${name}.token`, token ?? (await gw('nodes', 'token', name)))
      const state = [`--state`, `${cwd}/${name}.json`, '--token-file', `${name}.token`]
      const engine = ['--engine', `demo=${demoUrl}`]
      whenOver(start(['node', 'join', '--server', nodesUrl, '--name', name, ...engine, ...state]).end)
      while (!(await gw('nodes', 'show', name).catch(() => '')).includes('demo-chat')) await pause()
    },
    async restart() {
      await serving.end()
      serving = serve()
      await answers(`${controlUrl}/health`)
    },
  }
}

/** Waits until a control plane or a gateway answers. */
export async function answers(url: string): Promise<void> {
  const deadline = performance.now() + READY_MS
  while (performance.now() < deadline) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok || answer?.status === 503) return
    await pause()
  }
  throw new Error(`nothing answers at ${url}`)
}

function pause(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 50))
}
