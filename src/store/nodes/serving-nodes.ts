import type Database from 'better-sqlite3'
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
  ReusedCredential,
  ServingNodes,
} from './types.ts'

/** After this time without an answer another credential may be sent. */
const STALE_NEXT_MS = 3_600_000
/** For so long the use of a replaced credential is noticed. */
const FORGET_RETIRED_MS = 90 * 86_400_000
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
        const isJoined = raw.prepare('select 1 from node_credentials where node = ?').get(node) !== undefined
        // A token for many names takes none that is in use.
        if (isJoined && token.pattern !== node) {
          result = 'joined_already'
          return
        }
        raw.prepare('update node_join_tokens set uses_left = uses_left - 1 where id = ?').run(token.id)
        forgetCredentials(raw, node)
        raw
          .prepare(
            `insert into node_credentials (node, family, digest, issued_at_ms, labels, joined_at_ms)
              values (@node, @digest, @digest, @nowMs, @labels, @nowMs)`,
          )
          .run({ node, digest: credentialDigest, labels: token.labels, nowMs: this.#clock.nowMs() })
        result = { node, family: credentialDigest, labels: labelsIn(token.labels) }
      })
      return result
    })
  }

  leave({ node, family }: NodeIdentity): Promise<void> {
    return this.#connection.use(session =>
      writeBare(session, () => {
        const { raw } = session
        const known = raw.prepare('select 1 from node_credentials where node = ? and family = ?')
        if (known.get(node, family) === undefined) return
        forgetCredentials(raw, node)
        raw.prepare('delete from node_drains where node = ?').run(node)
      }),
    )
  }

  identity(credentialDigest: string): Promise<NodeIdentity | ReusedCredential | undefined> {
    return this.#connection.use(async session => {
      const found = await readBare(session, async () => findCredential(session.raw, credentialDigest))
      if (!found) return undefined
      if ('reusedOf' in found) {
        await writeBare(session, () => forgetCredentials(session.raw, found.reusedOf))
        return found
      }
      const { isNext, identity } = found
      if (isNext)
        await writeBare(session, () => retire(session.raw, identity, credentialDigest, this.#clock.nowMs()))
      return identity
    })
  }

  addCredential({ node, family }: NodeIdentity, digest: string): Promise<boolean> {
    return this.#connection.use(async session => {
      let changes = 0
      await writeBare(session, () => {
        const nowMs = this.#clock.nowMs()
        changes = session.raw
          .prepare(
            `update node_credentials set next_digest = @digest, next_issued_at_ms = @nowMs
              where node = @node and family = @family
                and (next_digest is null or next_digest = @digest or next_issued_at_ms < @staleMs)`,
          )
          .run({ digest, node, family, nowMs, staleMs: nowMs - STALE_NEXT_MS }).changes
      })
      return changes > 0
    })
  }

  retire(identity: NodeIdentity, digest: string): Promise<void> {
    return this.#connection.use(session =>
      writeBare(session, () => retire(session.raw, identity, digest, this.#clock.nowMs())),
    )
  }

  states(): Promise<readonly NodeState[]> {
    return this.#connection.use(session =>
      readBare(session, async () =>
        session.raw
          .prepare<[], { node: string; family: string; issued_at_ms: number; since_ms: number | null }>(
            'select node, family, issued_at_ms, since_ms from node_credentials left join node_drains using (node)',
          )
          .all()
          .map(({ node, family, issued_at_ms, since_ms }) => ({
            node,
            family,
            issuedAtMs: issued_at_ms,
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

interface CredentialRow {
  readonly node: string
  readonly family: string
  readonly labels: string
  readonly is_next: 0 | 1
}

function findCredential(
  raw: Database.Database,
  digest: string,
): { readonly identity: NodeIdentity; readonly isNext: boolean } | ReusedCredential | undefined {
  const row = raw
    .prepare<[string, string, string], CredentialRow>(
      `select node, family, labels, next_digest is ? as is_next from node_credentials
        where digest = ? or next_digest = ?`,
    )
    .get(digest, digest, digest)
  if (row) {
    const { node, family, labels, is_next } = row
    return { identity: { node, family, labels: labelsIn(labels) }, isNext: is_next === 1 }
  }
  const retired = raw
    .prepare<[string], { readonly node: string }>(
      'select node from node_retired_credentials where digest = ?',
    )
    .get(digest)
  return retired && { reusedOf: retired.node }
}

function retire(raw: Database.Database, { node, family }: NodeIdentity, next: string, nowMs: number): void {
  const isNext = 'node = @node and family = @family and next_digest = @next'
  raw
    .prepare(
      `insert or ignore into node_retired_credentials (digest, node, retired_at_ms)
        select digest, node, @nowMs from node_credentials where ${isNext}`,
    )
    .run({ node, family, next, nowMs })
  raw
    .prepare(
      `update node_credentials set digest = next_digest, next_digest = null, next_issued_at_ms = null, issued_at_ms = @nowMs where ${isNext}`,
    )
    .run({ node, family, next, nowMs })
  raw.prepare('delete from node_retired_credentials where retired_at_ms < ?').run(nowMs - FORGET_RETIRED_MS)
}

function forgetCredentials(raw: Database.Database, node: string): void {
  raw.prepare('delete from node_credentials where node = ?').run(node)
  raw.prepare('delete from node_retired_credentials where node = ?').run(node)
}
