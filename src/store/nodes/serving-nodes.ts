import type { Clock } from '../../base/clock.ts'
import type { Connection } from '../connection.ts'
import { readBare, writeBare } from '../session.ts'
import { usableToken } from './join-tokens.ts'
import type {
  JoinRejection,
  NodeAudit,
  NodeConnection,
  NodeIdentity,
  NodeState,
  ServingNodes,
} from './types.ts'

/** Gateways that were killed leave their rows behind. */
const FORGET_CONNECTION_MS = 3_600_000

/** Without Kysely, as all that a serving gateway does with its store. */
export class SqliteServingNodes implements ServingNodes {
  readonly #connection: Connection
  readonly #clock: Clock

  constructor(connection: Connection, clock: Clock) {
    this.#connection = connection
    this.#clock = clock
  }

  checkToken(digest: string, node: string): Promise<{ readonly id: string } | JoinRejection> {
    return this.#connection.use(session =>
      readBare(session, async () => usableToken(session.raw, digest, node, this.#clock.nowMs())),
    )
  }

  join(tokenDigest: string, node: string, credentialDigest: string): Promise<NodeIdentity | JoinRejection> {
    return this.#connection.use(async session => {
      let result: NodeIdentity | JoinRejection = 'unknown_token'
      await writeBare(session, () => {
        const { raw } = session
        const token = usableToken(raw, tokenDigest, node, this.#clock.nowMs())
        if (typeof token === 'string') {
          result = token
          return
        }
        raw.prepare('update node_join_tokens set uses_left = uses_left - 1 where id = ?').run(token.id)
        raw
          .prepare(
            `insert into node_credentials (digest, node, labels, joined_at_ms) values (?, ?, ?, ?)
              on conflict (node) do update set digest = excluded.digest, labels = excluded.labels,
                joined_at_ms = excluded.joined_at_ms`,
          )
          .run(credentialDigest, node, token.labels, this.#clock.nowMs())
        result = { node, labels: labelsIn(token.labels) }
      })
      return result
    })
  }

  leave(credentialDigest: string): Promise<void> {
    return this.#connection.use(session =>
      writeBare(session, () => {
        session.raw
          .prepare(
            'delete from node_drains where node in (select node from node_credentials where digest = ?)',
          )
          .run(credentialDigest)
        session.raw.prepare('delete from node_credentials where digest = ?').run(credentialDigest)
      }),
    )
  }

  identity(credentialDigest: string): Promise<NodeIdentity | undefined> {
    return this.#connection.use(session =>
      readBare(session, async () => {
        const row = session.raw
          .prepare<[string], { node: string; labels: string }>(
            'select node, labels from node_credentials where digest = ?',
          )
          .get(credentialDigest)
        return row && { node: row.node, labels: labelsIn(row.labels) }
      }),
    )
  }

  states(): Promise<readonly NodeState[]> {
    return this.#connection.use(session =>
      readBare(session, async () =>
        session.raw
          .prepare<[], { digest: string; node: string; labels: string; since_ms: number | null }>(
            'select digest, node, labels, since_ms from node_credentials left join node_drains using (node)',
          )
          .all()
          .map(({ digest, node, labels, since_ms }) => ({
            digest,
            node,
            labels: labelsIn(labels),
            isDraining: since_ms !== null,
          })),
      ),
    )
  }

  reportConnections(
    gateway: string,
    connected: readonly NodeConnection[],
    gone: readonly string[],
  ): Promise<void> {
    return this.#connection.use(session =>
      writeBare(session, () => {
        const nowMs = this.#clock.nowMs()
        const put = session.raw.prepare(
          `insert or replace into node_connections
            (node, gateway_id, address, version, connected_at_ms, seen_at_ms, engines) values (?, ?, ?, ?, ?, ?, ?)`,
        )
        for (const { node, address, version, connectedAtMs, engines } of connected)
          put.run(node, gateway, address, version, connectedAtMs, nowMs, JSON.stringify(engines))
        const remove = session.raw.prepare('delete from node_connections where node = ? and gateway_id = ?')
        for (const node of gone) remove.run(node, gateway)
        session.raw
          .prepare('delete from node_connections where seen_at_ms < ?')
          .run(nowMs - FORGET_CONNECTION_MS)
      }),
    )
  }

  audit({ action, user, node, address }: NodeAudit): Promise<void> {
    return this.#connection.use(session =>
      writeBare(session, () => {
        session.raw
          .prepare(
            `insert into audit (at_ms, user_name, role, origin, address, action, target)
              values (?, ?, 'admin', 'rest', ?, ?, ?)`,
          )
          .run(this.#clock.nowMs(), user, address, action, `node/${node}`)
      }),
    )
  }
}

function labelsIn(json: string): Readonly<Record<string, string>> {
  return JSON.parse(json) as Record<string, string>
}
