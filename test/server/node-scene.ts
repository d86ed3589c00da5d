import { onTestFinished } from 'vitest'
import type { Server } from '../../src/agent/dial.ts'
import { type NodeShown, showNode, type WantedJoinToken } from '../../src/services/nodes.ts'
import type { CallLogQuery, StoredCall } from '../../src/store/ledger/types.ts'
import { type Reply, reply } from '../support/answers.ts'
import { joinAndRun, joinToken, type RunningNode, runNode } from '../support/running-node.ts'
import { type ScriptedUpstream, scriptedUpstream } from '../support/scripted-upstream.ts'
import { tempDir } from '../support/temp-dir.ts'
import { type WholeGateway, wholeGateway } from '../support/whole-gateway.ts'

const METRICS_TOKEN = 'token-of-the-scraper'
const APP_KEY = 'sk-a-secret-of-their-own-0123456789'

export const CHAT = {
  id: 'c',
  object: 'chat.completion',
  model: 'served',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }],
  usage: { prompt_tokens: 3, completion_tokens: 2 },
}

const FILES = (more: string, gpu1: string) => `version: 1
nodes:
  ${gpu1}
  gpu-2: { labels: { pool: a } }
endpoints:
  qwen: { protocol: openai, served_model: m, nodes: { labels: { pool: a }, engine: vllm } }
publications:
  qwen: { price: { input: 1, output: 1 }, bindings: [{ endpoint: qwen }] }
keys: { app: { kind: platform, secret: { env: APP_KEY } } }
${more}
`

/** An engine on the scripted upstream: lists a model, has metrics, and answers calls. */
export async function engine(calls: () => Reply, metrics = ''): Promise<ScriptedUpstream> {
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(exchange => {
    const { target } = exchange.request
    if (target === '/metrics') return reply({ body: metrics, framing: 'length' })(exchange)
    if (target !== '/v1/models') return reply(calls())(exchange)
    const body = JSON.stringify({ data: [{ id: 'm', owned_by: 'vllm' }] })
    return reply({ headers: { 'content-type': 'application/json' }, body })(exchange)
  })
  return upstream
}

export const JSON_CHAT: Reply = {
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(CHAT),
}

export interface NodeScene {
  readonly gateway: WholeGateway
  readonly server: Server
  token(wanted?: Partial<WantedJoinToken>): Promise<string>
  /** Joins, runs, and waits until calls can go there. */
  node(name: string, port: number): Promise<RunningNode>
  run(credential: string, port: number, more?: readonly string[]): RunningNode
  /** Another gateway over the same store. */
  another(): Promise<WholeGateway>
  show(name: string): Promise<NodeShown>
  state(name: string): Promise<string>
  call(more?: object, at?: WholeGateway): Promise<Response>
  /** The call log, newest first. */
  calls(query?: CallLogQuery): Promise<readonly StoredCall[]>
  /** The lines of `/metrics` about nodes. */
  metrics(): Promise<readonly string[]>
  /** The status of a call, whose answer is not read. */
  status(more?: object): Promise<number>
}

export async function nodeScene(more = '', gpu1 = 'gpu-1: { labels: { pool: a } }'): Promise<NodeScene> {
  const files = tempDir(onTestFinished)
  const file = files.write('gw.yaml', FILES(more, gpu1))
  const environment = { APP_KEY, METRICS_TOKEN }
  const folder = tempDir(onTestFinished).path
  const gateway = await wholeGateway(onTestFinished, file, environment, folder)
  const server = { url: new URL(gateway.nodesUrl) }
  const engines = (port: number) => [{ name: 'vllm', host: '127.0.0.1', port }]
  const show = (name: string) => gateway.inStore(context => showNode(context, { name }))
  const scene: NodeScene = {
    gateway,
    server,
    token: wanted => joinToken(gateway, wanted),
    run: (credential, port, more = []) =>
      runNode([gateway.nodesUrl, ...more], onTestFinished, credential, engines(port)),
    another: () => wholeGateway(onTestFinished, file, environment, folder),
    node: (name, port) => joinAndRun(gateway, onTestFinished, name, engines(port)),
    show,
    state: async name => (await show(name)).state,
    call: (fields = {}, at = gateway) =>
      fetch(`${at.gatewayUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${APP_KEY}` },
        body: JSON.stringify({ model: 'qwen', messages: [{ role: 'user', content: 'Hello!' }], ...fields }),
      }),
    calls: query => gateway.inStore(({ store }) => store.accounting.callLogs(query)),
    async metrics() {
      const scrape = await fetch(`${gateway.gatewayUrl}/metrics`, {
        headers: { authorization: `Bearer ${METRICS_TOKEN}` },
      })
      return (await scrape.text()).split('\n').filter(line => line.startsWith('gw_node_'))
    },
    async status(fields) {
      const answer = await scene.call(fields)
      await answer.body?.cancel()
      return answer.status
    },
  }
  return scene
}
