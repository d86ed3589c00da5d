import { type PlainSql, prepare, type StorePorts } from '../engine.ts'
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
/**
 * A dial may be on its way with the credential that the node replaces at the same time, by another gateway: no theft, if it
 * comes so soon.
 */
const REPLACED_JUST_NOW_MS = 60_000
/** For so long the use of a replaced credential is noticed. */
const FORGET_RETIRED_MS = 90 * 86_400_000
/** Gateways that were killed leave their rows behind. */
const FORGET_CONNECTION_MS = 3_600_000

/** Without Kysely, as all that a serving gateway does with its store. */
export class DatabaseServingNodes implements ServingNodes {
  readonly #ports: Pick<StorePorts, 'readBare' | 'writeBare' | 'clockOffMs' | 'clock'>

  constructor(ports: Pick<StorePorts, 'readBare' | 'writeBare' | 'clockOffMs' | 'clock'>) {
    this.#ports = ports
  }

  checkToken(digest: string, node: string): Promise<{ readonly id: string } | JoinRejection> {
    return this.#ports.readBare(raw => usableToken(raw, digest, node, this.#nowMs))
  }

  join(tokenDigest: string, node: string, credentialDigest: string): Promise<NodeIdentity | JoinRejection> {
    return this.#ports.writeBare(async raw => {
      const nowMs = this.#nowMs
      const token = await usableToken(raw, tokenDigest, node, nowMs)
      if (typeof token === 'string') return token
      const joined = await prepare<[string]>(raw, 'select 1 from node_credentials where node = ?').get(node)
      // A token for many names takes none that is in use.
      if (joined !== undefined && token.pattern !== node) return 'joined_already'
      await prepare<[string]>(raw, 'update node_join_tokens set uses_left = uses_left - 1 where id = ?').run(
        token.id,
      )
      await forgetCredentials(raw, node)
      await prepare<unknown[]>(
        raw,
        `insert into node_credentials (node, family, digest, issued_at_ms, labels, joined_at_ms)
            values (?, ?, ?, ?, ?, ?)`,
      ).run(node, credentialDigest, credentialDigest, nowMs, token.labels, nowMs)
      return { node, family: credentialDigest, labels: labelsIn(token.labels) }
    })
  }

  leave({ node, family }: NodeIdentity): Promise<void> {
    return this.#ports.writeBare(async raw => {
      const known = await prepare<[string, string]>(
        raw,
        'select 1 from node_credentials where node = ? and family = ?',
      ).get(node, family)
      if (known === undefined) return
      await forgetCredentials(raw, node)
      await prepare<[string]>(raw, 'delete from node_drains where node = ?').run(node)
    })
  }

  async identity(
    credentialDigest: string,
  ): Promise<NodeIdentity | ReusedCredential | 'replaced_just_now' | undefined> {
    const found = await this.#ports.readBare(raw => findCredential(raw, credentialDigest))
    if (!found) return undefined
    if ('retiredAtMs' in found) return this.#reused(credentialDigest)
    const { isNext, identity } = found
    if (isNext) await this.retire(identity, credentialDigest)
    return identity
  }

  async #reused(credentialDigest: string): Promise<ReusedCredential | 'replaced_just_now' | undefined> {
    const storeNowMs = await this.#storeNowMs()
    return this.#ports.writeBare(async raw => {
      const found = await findCredential(raw, credentialDigest)
      // The node has joined again, or another gateway was faster.
      if (!found || !('retiredAtMs' in found)) return undefined
      if (storeNowMs - found.retiredAtMs < REPLACED_JUST_NOW_MS) return 'replaced_just_now'
      await forgetCredentials(raw, found.node)
      return { reusedOf: found.node }
    })
  }

  addCredential({ node, family }: NodeIdentity, digest: string): Promise<boolean> {
    return this.#ports.writeBare(async raw => {
      const nowMs = this.#nowMs
      const { changes } = await prepare<unknown[]>(
        raw,
        `update node_credentials set next_digest = ?, next_issued_at_ms = ?
            where node = ? and family = ? and (next_digest is null or next_digest = ? or next_issued_at_ms < ?)`,
      ).run(digest, nowMs, node, family, digest, nowMs - STALE_NEXT_MS)
      return changes > 0
    })
  }

  async retire(identity: NodeIdentity, digest: string): Promise<void> {
    const storeNowMs = await this.#storeNowMs()
    await this.#ports.writeBare(raw => retire(raw, identity, digest, this.#nowMs, storeNowMs))
  }

  states(): Promise<readonly NodeState[]> {
    return this.#ports.readBare(async raw => {
      const rows = await prepare<
        [],
        { node: string; family: string; issued_at_ms: number; since_ms: number | null }
      >(
        raw,
        'select node, family, issued_at_ms, since_ms from node_credentials left join node_drains using (node)',
      ).all()
      return rows.map(({ node, family, issued_at_ms, since_ms }) => ({
        node,
        family,
        issuedAtMs: issued_at_ms,
        isDraining: since_ms !== null,
      }))
    })
  }

  async reportConnections(
    gateway: string,
    connected: readonly NodeConnection[],
    gone: readonly string[],
  ): Promise<void> {
    const offMs = await this.#ports.clockOffMs()
    await this.#ports.writeBare(async raw => {
      const nowMs = this.#nowMs + offMs
      const put = prepare<unknown[]>(raw, PUT_CONNECTION)
      for (const { node, address, version, connectedAtMs, engines } of connected)
        await put.run(node, gateway, address, version, connectedAtMs + offMs, nowMs, JSON.stringify(engines))
      const remove = prepare<[string, string]>(
        raw,
        'delete from node_connections where node = ? and gateway_id = ?',
      )
      for (const node of gone) await remove.run(node, gateway)
      await prepare<[number]>(raw, 'delete from node_connections where seen_at_ms < ?').run(
        nowMs - FORGET_CONNECTION_MS,
      )
    })
  }

  async audit({ action, user, node, address, reason }: NodeAudit): Promise<void> {
    await this.#ports.writeBare(raw =>
      prepare<unknown[]>(
        raw,
        `insert into audit (at_ms, user_name, role, origin, address, action, target, reason)
            values (?, ?, 'admin', 'rest', ?, ?, ?, ?)`,
      ).run(this.#nowMs, user, address, action, `node/${node}`, reason ?? null),
    )
  }

  get #nowMs(): number {
    return this.#ports.clock.nowMs()
  }

  /** What gateways compare with each other is by the clock that they share. */
  async #storeNowMs(): Promise<number> {
    return (await this.#ports.clockOffMs()) + this.#nowMs
  }
}

const PUT_CONNECTION = `insert into node_connections
    (node, gateway_id, address, version, connected_at_ms, seen_at_ms, engines) values (?, ?, ?, ?, ?, ?, ?)
  on conflict (node, gateway_id) do update set address = excluded.address, version = excluded.version,
    connected_at_ms = excluded.connected_at_ms, seen_at_ms = excluded.seen_at_ms, engines = excluded.engines`

function labelsIn(json: string): Readonly<Record<string, string>> {
  return JSON.parse(json) as Record<string, string>
}

interface CredentialRow {
  readonly node: string
  readonly family: string
  readonly labels: string
  readonly next_digest: string | null
}

interface FoundCredential {
  readonly identity: NodeIdentity
  readonly isNext: boolean
}

interface RetiredCredential {
  readonly node: string
  /** Store's clock. */
  readonly retiredAtMs: number
}

async function findCredential(
  raw: PlainSql,
  digest: string,
): Promise<FoundCredential | RetiredCredential | undefined> {
  const row = await prepare<[string, string], CredentialRow>(
    raw,
    'select node, family, labels, next_digest from node_credentials where digest = ? or next_digest = ?',
  ).get(digest, digest)
  if (row) {
    const { node, family, labels, next_digest } = row
    return { identity: { node, family, labels: labelsIn(labels) }, isNext: next_digest === digest }
  }
  const retired = await prepare<[string], { readonly node: string; readonly retired_at_ms: number }>(
    raw,
    'select node, retired_at_ms from node_retired_credentials where digest = ?',
  ).get(digest)
  return retired && { node: retired.node, retiredAtMs: retired.retired_at_ms }
}

async function retire(
  raw: PlainSql,
  { node, family }: NodeIdentity,
  next: string,
  nowMs: number,
  storeNowMs: number,
): Promise<void> {
  const isNext = 'node = ? and family = ? and next_digest = ?'
  await prepare<unknown[]>(
    raw,
    `insert into node_retired_credentials (digest, node, retired_at_ms)
        select digest, node, ? from node_credentials where ${isNext} on conflict do nothing`,
  ).run(storeNowMs, node, family, next)
  await prepare<unknown[]>(
    raw,
    `update node_credentials set digest = next_digest, next_digest = null, next_issued_at_ms = null,
        issued_at_ms = ? where ${isNext}`,
  ).run(nowMs, node, family, next)
  await prepare<[number]>(raw, 'delete from node_retired_credentials where retired_at_ms < ?').run(
    storeNowMs - FORGET_RETIRED_MS,
  )
}

async function forgetCredentials(raw: PlainSql, node: string): Promise<void> {
  await prepare<[string]>(raw, 'delete from node_credentials where node = ?').run(node)
  await prepare<[string]>(raw, 'delete from node_retired_credentials where node = ?').run(node)
}
