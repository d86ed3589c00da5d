import { keyDigest } from '../base/api-key.ts'
import { CommandError } from '../base/catalogue/command.ts'
import { iso } from '../base/iso.ts'
import { newJoinToken } from '../base/node-secrets.ts'
import type { OperationId, OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { decode } from '../schema/kinds.ts'
import type { StoredJoinToken, StoredNode } from '../store/nodes/types.ts'
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

/** Nodes that have joined, by name. */
export async function listNodes(context: Context, query: PageQuery): Promise<Page<NodeShown>> {
  const nodes = await context.store.nodes.all()
  const show = await presenter(context)
  return pageOf(
    query,
    inMemory(nodes, ({ node }) => node),
    ({ node }) => node,
    show,
  )
}

/** @throws {CommandError} not_found */
export async function showNode(context: Context, { name }: { readonly name: string }): Promise<NodeShown> {
  const node = await find(context, name)
  return (await presenter(context))(node)
}

/** Gives a node no new calls, until it is uncordoned. @throws {CommandError} not_found */
export function drainNode(context: Context, { name }: { readonly name: string }): Promise<NodeShown> {
  return change(context, 'drain_node', name, () => context.store.nodes.drain(name))
}

/** @throws {CommandError} not_found */
export function uncordonNode(context: Context, { name }: { readonly name: string }): Promise<NodeShown> {
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

export async function createJoinToken(context: Context, wanted: WantedJoinToken): Promise<IssuedJoinToken> {
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
  return { ...tokenShown(stored), token }
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
  context: Context,
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

async function presenter({ store }: Context): Promise<(node: StoredNode) => NodeShown> {
  const { resources } = await store.find({ kind: 'node' })
  const declared = new Map(resources.map(({ name, spec }) => [name, decode('node', spec)]))
  return ({ node: name, labels, joinedAtMs, drainingSinceMs, connection }) => {
    const spec = declared.get(name)
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
        engines: connection.engines.map(({ models, ...engine }) => ({ ...engine, models: [...models] })),
      }),
    }
  }
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
