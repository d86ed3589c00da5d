import { type AgentEvent, runAgent } from '../../src/agent/agent.ts'
import { type CarrierKind, join as joinGateway } from '../../src/agent/dial.ts'
import type { EngineAddress } from '../../src/agent/engine.ts'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { createJoinToken, showNode, type WantedJoinToken } from '../../src/services/nodes.ts'
import type { WhenOver } from './when-over.ts'
import type { WholeGateway } from './whole-gateway.ts'

/** A node in this process. */
export interface RunningNode {
  readonly events: readonly AgentEvent[]
  readonly state: { readonly credential: string }
  /** Rejects with what ended it, if it was rejected. */
  readonly ended: Promise<void>
  stop(): void
}

export function runNode(
  nodesUrls: string | readonly string[],
  whenOver: WhenOver,
  credential: string,
  engines: readonly EngineAddress[],
  carrier?: CarrierKind,
): RunningNode {
  const abort = new AbortController()
  const state = { credential }
  const events: AgentEvent[] = []
  const ended = runAgent({
    servers: [nodesUrls].flat().map(url => ({ url: new URL(url) })),
    credential,
    engines,
    carrier,
    clock: systemClock,
    random: systemRandom,
    version: 'test',
    signal: abort.signal,
    drainMs: 5_000,
    onCredential: async next => void (state.credential = next),
    onEvent: event => void events.push(event),
  })
  const over = ended.catch(() => undefined)
  whenOver(async () => {
    abort.abort()
    await over
  })
  return { events, state, ended, stop: () => abort.abort() }
}

export async function joinToken(
  gateway: WholeGateway,
  wanted: Partial<WantedJoinToken> = {},
): Promise<string> {
  const all = { pattern: 'gpu-1', labels: {}, uses: 1, spanMs: 60_000, ...wanted }
  return (await gateway.inStore(context => createJoinToken(context, all))).token
}

/** Joins, runs, and waits until calls can go there. */
export async function joinAndRun(
  gateway: WholeGateway,
  whenOver: WhenOver,
  name: string,
  engines: readonly EngineAddress[],
): Promise<RunningNode> {
  const token = await joinToken(gateway, { pattern: name })
  const { credential } = await joinGateway({ url: new URL(gateway.nodesUrl) }, token, name)
  const node = runNode(gateway.nodesUrl, whenOver, credential, engines)
  for (;;) {
    const { engines: offered = [] } = await gateway.inStore(context => showNode(context, { name }))
    if (offered.some(({ state }) => state === 'up')) return node
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
