import { keyDigest } from '../base/api-key.ts'
import { CommandError } from '../base/catalogue/command.ts'
import { iso } from '../base/iso.ts'
import { newJoinToken } from '../base/node-secrets.ts'
import type { NodeFigures } from '../metering/metrics/state.ts'
import type { OperationId, OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf, QueryOf } from '../schema/api/types.ts'
import { decode, type Spec } from '../schema/kinds.ts'
import { nodeChoice, nodeEntry } from '../snapshot/entries.ts'
import type { NodeChoice } from '../snapshot/types.ts'
import type { StoredJoinToken, StoredNode } from '../store/nodes/types.ts'
import type { Store } from '../store/types.ts'
import { choosesNode } from '../upstream/nodes.ts'
import type { EndpointHealth } from '../upstream/routing/endpoint-state.ts'
import { record } from './audit.ts'
import type { Context } from './context.ts'
import { similarNames } from './names.ts'
import { type Page, type PageQuery, pageOf } from './paging.ts'

export type NodeShown = AnswerOf<OperationOf<'get_node'>>
type IssuedJoinToken = AnswerOf<OperationOf<'create_join_token'>>
export type JoinTokenShown = Omit<IssuedJoinToken, 'token'>

/** A join token to create. */
export interface WantedJoinToken {
  readonly pattern: string
  readonly labels: Readonly<Record<string, string>>
  readonly uses: number
  readonly spanMs: number
}

/** The nodes of the gateway of this process: their connections, engines and health. */
export interface NodeActivity {
  /** Where it listens for nodes; absent if it does not. */
  readonly url?: string
  readonly nodes: readonly NodeFigures[]
  /** The health of endpoints on each of their nodes. */
  readonly endpoints: readonly EndpointHealth[]
}

export interface NodeContext extends Context {
  /** Absent without a gateway in this process. */
  readonly nodeActivity?: () => Promise<NodeActivity>
}

/** Nodes that have joined, by name. */
export async function listNodes(
  context: NodeContext,
  { q, endpoint, ...query }: QueryOf<OperationOf<'list_nodes'>>,
): Promise<Page<NodeShown>> {
  const show = await presenter(context)
  const nodes = (await context.store.nodes.all())
    .filter(({ node }) => q === undefined || node.toLowerCase().includes(q.toLowerCase()))
    .map(show)
    .filter(({ endpoints }) => endpoint === undefined || endpoints.some(({ name }) => name === endpoint))
  return pageOf(
    query,
    inMemory(nodes, ({ name }) => name),
    ({ name }) => name,
    node => node,
  )
}

/** @throws {CommandError} not_found */
export async function showNode(
  context: NodeContext,
  { name }: { readonly name: string },
): Promise<NodeShown> {
  const node = await find(context, name)
  return (await presenter(context))(node)
}

/** Gives a node no new calls, until it is uncordoned. @throws {CommandError} not_found */
export function drainNode(context: NodeContext, { name }: { readonly name: string }): Promise<NodeShown> {
  return change(context, 'drain_node', name, () => context.store.nodes.drain(name))
}

/** @throws {CommandError} not_found */
export function uncordonNode(context: NodeContext, { name }: { readonly name: string }): Promise<NodeShown> {
  return change(context, 'uncordon_node', name, () => context.store.nodes.uncordon(name))
}

/** Ends the credential of a node, and its connection. @throws {CommandError} not_found */
export async function revokeNode(
  context: Context,
  { name }: { readonly name: string },
): Promise<AnswerOf<OperationOf<'revoke_node'>>> {
  context.signal.throwIfAborted()
  if (!(await context.store.nodes.revoke(name))) throw await unknownNode(context, name)
  await record(context, { action: 'revoke_node', target: `node/${name}` })
  return { name, revoked: true }
}

/** Join tokens that can be used, by id. */
export async function listJoinTokens(context: Context, query: PageQuery): Promise<Page<JoinTokenShown>> {
  const tokens = await context.store.nodes.joinTokens()
  return pageOf(
    query,
    inMemory(tokens, ({ id }) => id),
    ({ id }) => id,
    tokenShown,
  )
}

export async function createJoinToken(
  context: NodeContext,
  wanted: WantedJoinToken,
): Promise<IssuedJoinToken> {
  context.signal.throwIfAborted()
  const { pattern, labels, uses, spanMs } = wanted
  const { id, token } = newJoinToken(context.random)
  const stored = await context.store.nodes.createJoinToken({
    id,
    digest: keyDigest(token),
    pattern,
    labels,
    uses,
    expiresAtMs: context.clock.nowMs() + spanMs,
    ...(context.actor.name !== undefined && { author: context.actor.name }),
  })
  await record(context, { action: 'create_join_token', target: `join-token/${id}` })
  const server = (await context.nodeActivity?.())?.url
  return { ...tokenShown(stored), token, ...(server !== undefined && { server }) }
}

/** @throws {CommandError} not_found */
export async function revokeJoinToken(context: Context, { id }: { readonly id: string }): Promise<void> {
  context.signal.throwIfAborted()
  if (!(await context.store.nodes.revokeJoinToken(id))) {
    throw new CommandError('not_found', `There is no join token ${id}.`, {
      hint: '`gw nodes tokens` shows those that can be used.',
    })
  }
  await record(context, { action: 'revoke_join_token', target: `join-token/${id}` })
}

async function change(
  context: NodeContext,
  action: OperationId,
  name: string,
  apply: () => Promise<boolean>,
): Promise<NodeShown> {
  context.signal.throwIfAborted()
  await find(context, name)
  if (await apply()) await record(context, { action, target: `node/${name}` })
  return showNode(context, { name })
}

async function find(context: Context, name: string): Promise<StoredNode> {
  const node = (await context.store.nodes.all()).find(each => each.node === name)
  if (!node) throw await unknownNode(context, name)
  return node
}

async function unknownNode({ store }: Context, name: string): Promise<CommandError> {
  const names = (await store.nodes.all()).map(({ node }) => node)
  const similar = similarNames(name, names)
  return new CommandError('not_found', `No node ${name} has joined.`, {
    hint:
      similar.length > 0
        ? `Did you mean ${similar.join(' or ')}?`
        : `Create a join token with \`gw nodes token ${name}\`, and join with it.`,
  })
}

async function presenter({ store, nodeActivity }: NodeContext): Promise<(node: StoredNode) => NodeShown> {
  const declared = await declaredNodes(store)
  const choices = await nodeChoices(store)
  const activity = await nodeActivity?.()
  return ({ node: name, labels, joinedAtMs, drainingSinceMs, connection }) => {
    const spec = declared.get(name)
    const entry = nodeEntry({ name, spec: spec ?? { labels } })
    const engines = activity?.nodes.find(({ node }) => node === name)?.engines
    const health = activity?.endpoints.filter(({ node }) => node === name)
    return {
      name,
      state: !connection ? 'disconnected' : drainingSinceMs === undefined ? 'connected' : 'draining',
      declared: spec !== undefined,
      labels: { ...(spec?.labels ?? labels) },
      joined_at: iso(joinedAtMs),
      ...(drainingSinceMs !== undefined && { draining_since: iso(drainingSinceMs) }),
      ...(connection && {
        connected_at: iso(connection.connectedAtMs),
        address: connection.address,
        version: connection.version,
        engines: connection.engines.map(({ models, ...engine }) => {
          const load = engines?.find(each => each.engine === engine.name)?.load
          return { ...engine, models: [...models], ...(load && { load }) }
        }),
      }),
      endpoints: choices
        .filter(({ choice }) => choosesNode(choice, entry))
        .map(({ endpoint }) => {
          const on = health?.find(each => each.endpoint === endpoint)
          return { name: endpoint, ...(on && { state: on.state, in_flight: on.inFlight }) }
        }),
    }
  }
}

/** Prepares a function that counts the nodes of an endpoint; undefined for one that is not on nodes. */
export async function nodeCounter(
  store: Pick<Store, 'find' | 'nodes'>,
): Promise<(spec: Spec<'endpoint'>) => { readonly joined: number; readonly connected: number } | undefined> {
  const declared = await declaredNodes(store)
  const joined = (await store.nodes.all()).map(({ node: name, labels, connection }) => ({
    entry: nodeEntry({ name, spec: declared.get(name) ?? { labels } }),
    isConnected: connection !== undefined,
  }))
  return spec => {
    const choice = nodeChoice(spec)
    if (!choice) return undefined
    const chosen = joined.filter(({ entry }) => choosesNode(choice, entry))
    return { joined: chosen.length, connected: chosen.filter(({ isConnected }) => isConnected).length }
  }
}

async function declaredNodes(store: Pick<Store, 'find'>): Promise<ReadonlyMap<string, Spec<'node'>>> {
  const { resources } = await store.find({ kind: 'node' })
  return new Map(resources.map(({ name, spec }) => [name, decode('node', spec)]))
}

/** Endpoints on nodes, by name, and which nodes they choose. */
async function nodeChoices(
  store: Pick<Store, 'find'>,
): Promise<readonly { readonly endpoint: string; readonly choice: NodeChoice }[]> {
  const { resources } = await store.find({ kind: 'endpoint' })
  return resources.flatMap(({ name, spec }) => {
    const choice = nodeChoice(decode('endpoint', spec))
    return choice ? [{ endpoint: name, choice }] : []
  })
}

function tokenShown(stored: StoredJoinToken): JoinTokenShown {
  const { id, pattern, labels, usesLeft, createdAtMs, expiresAtMs, author } = stored
  return {
    id,
    pattern,
    labels: { ...labels },
    uses_left: usesLeft,
    created_at: iso(createdAtMs),
    expires_at: iso(expiresAtMs),
    ...(author !== undefined && { created_by: author }),
  }
}

/** Pages a short list that is sorted by its marks. */
function inMemory<Item>(items: readonly Item[], markOf: (item: Item) => string) {
  return async (limit: number, behind: string | undefined): Promise<readonly Item[]> =>
    items.filter(item => behind === undefined || markOf(item) > behind).slice(0, limit)
}
