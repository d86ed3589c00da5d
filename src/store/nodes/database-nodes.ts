import { type Kysely, type Selectable, sql } from 'kysely'
import type { StorePorts } from '../engine.ts'
import type { NodeJoinTokensTable, Tables } from '../tables.ts'
import type { NewJoinToken, NodeStore, ReportedEngine, StoredJoinToken, StoredNode } from './types.ts'

/** Three reports that did not come. */
const GONE_AFTER_MS = 30_000

/** The nodes of a store, for administrators. */
export class DatabaseNodes implements NodeStore {
  readonly #ports: StorePorts

  constructor(ports: StorePorts) {
    this.#ports = ports
  }

  createJoinToken(token: NewJoinToken): Promise<StoredJoinToken> {
    return this.#ports.write(async db => {
      const nowMs = this.#ports.clock.nowMs()
      await db.deleteFrom('node_join_tokens').where(isOver(nowMs)).execute()
      const row = {
        id: token.id,
        digest: token.digest,
        pattern: token.pattern,
        labels: JSON.stringify(token.labels),
        uses_left: token.uses,
        created_at_ms: nowMs,
        expires_at_ms: token.expiresAtMs,
        created_by: token.author ?? null,
      }
      await db.insertInto('node_join_tokens').values(row).execute()
      return toToken(row)
    })
  }

  joinTokens(): Promise<readonly StoredJoinToken[]> {
    return this.#ports.read(async db => {
      const rows = await db
        .selectFrom('node_join_tokens')
        .selectAll()
        .where('uses_left', '>', 0)
        .where('expires_at_ms', '>', this.#ports.clock.nowMs())
        .orderBy('id')
        .execute()
      return rows.map(toToken)
    })
  }

  revokeJoinToken(id: string): Promise<boolean> {
    return this.#ports.write(async db => {
      const { numDeletedRows } = await db
        .deleteFrom('node_join_tokens')
        .where('id', '=', id)
        .executeTakeFirst()
      return numDeletedRows > 0n
    })
  }

  async all(): Promise<readonly StoredNode[]> {
    const offMs = await this.#ports.clockOffMs()
    return this.#ports.read(db => selectNodes(db, this.#ports.clock.nowMs(), offMs))
  }

  revoke(node: string): Promise<boolean> {
    return this.#ports.write(async db => {
      const { numDeletedRows } = await db
        .deleteFrom('node_credentials')
        .where('node', '=', node)
        .executeTakeFirst()
      await db.deleteFrom('node_retired_credentials').where('node', '=', node).execute()
      await db.deleteFrom('node_drains').where('node', '=', node).execute()
      return numDeletedRows > 0n
    })
  }

  drain(node: string): Promise<boolean> {
    return this.#ports.write(async db => {
      const { numInsertedOrUpdatedRows = 0n } = await db
        .insertInto('node_drains')
        .values({ node, since_ms: this.#ports.clock.nowMs() })
        .onConflict(conflict => conflict.doNothing())
        .executeTakeFirst()
      return numInsertedOrUpdatedRows > 0n
    })
  }

  uncordon(node: string): Promise<boolean> {
    return this.#ports.write(async db => {
      const { numDeletedRows } = await db
        .deleteFrom('node_drains')
        .where('node', '=', node)
        .executeTakeFirst()
      return numDeletedRows > 0n
    })
  }
}

/** @param offMs By how much the clock of the store is ahead of this machine's. */
async function selectNodes(db: Kysely<Tables>, nowMs: number, offMs: number): Promise<StoredNode[]> {
  const rows = await db
    .selectFrom('node_credentials as credential')
    .leftJoin('node_drains as drain', 'drain.node', 'credential.node')
    .leftJoin('node_connections as connection', join =>
      join
        .onRef('connection.node', '=', 'credential.node')
        // A gateway that was killed reports no more, and has not said so.
        .on('connection.seen_at_ms', '>', nowMs + offMs - GONE_AFTER_MS),
    )
    .select([
      'credential.node as node',
      'labels',
      'joined_at_ms',
      'since_ms',
      'gateway_id',
      'address',
      'version',
      'connected_at_ms',
      'engines',
    ])
    .orderBy('credential.node')
    .orderBy('connected_at_ms', 'desc')
    .execute()
  // Of connections to several gateways the latest is shown.
  const latest = new Map<string, (typeof rows)[number]>()
  for (const row of rows) if (!latest.has(row.node)) latest.set(row.node, row)
  return [...latest.values()].map(row => ({
    node: row.node,
    labels: JSON.parse(row.labels) as Record<string, string>,
    joinedAtMs: row.joined_at_ms,
    ...(row.since_ms !== null && { drainingSinceMs: row.since_ms }),
    ...(row.gateway_id !== null && {
      connection: {
        node: row.node,
        address: row.address ?? '',
        version: row.version ?? '',
        connectedAtMs: (row.connected_at_ms ?? offMs) - offMs,
        engines: JSON.parse(row.engines ?? '[]') as ReportedEngine[],
      },
    }),
  }))
}

function isOver(nowMs: number) {
  return sql<boolean>`uses_left = 0 or expires_at_ms <= ${nowMs}`
}

function toToken(row: Selectable<NodeJoinTokensTable>): StoredJoinToken {
  return {
    id: row.id,
    pattern: row.pattern,
    labels: JSON.parse(row.labels) as Record<string, string>,
    usesLeft: row.uses_left,
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms,
    ...(row.created_by !== null && { author: row.created_by }),
  }
}
