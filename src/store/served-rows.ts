import type { CanonicalSpec, Kind } from '../schema/kinds.ts'
import type { KeySecret, ServedResource } from '../schema/state.ts'

export interface ResourceRow {
  readonly name: string
  readonly spec: string
  readonly created_at_ms: number
  readonly account: string | null
}

export interface SecretRow {
  readonly id: number
  readonly key_name: string
  readonly digest: string
  readonly expires_at_ms: number | null
}

/** A resource backed by its row. The spec is parsed on each access and not kept: the caller keeps the compiled form. */
export class RowResource implements ServedResource {
  readonly kind: Kind
  readonly name: string
  /** Canonical JSON. */
  readonly text: string
  readonly createdAtMs: number
  declare readonly account?: string

  constructor(kind: Kind, row: ResourceRow) {
    this.kind = kind
    this.name = row.name
    this.text = row.spec
    this.createdAtMs = row.created_at_ms
    if (row.account !== null) this.account = row.account
  }

  get spec(): CanonicalSpec {
    return JSON.parse(this.text) as CanonicalSpec
  }
}

export function isOfRow(resource: ServedResource | undefined, row: ResourceRow): resource is RowResource {
  return (
    resource instanceof RowResource &&
    resource.text === row.spec &&
    resource.createdAtMs === row.created_at_ms &&
    resource.account === (row.account ?? undefined)
  )
}

/** A secret backed by its row. */
export class RowSecret implements KeySecret {
  readonly id: number
  readonly key: string
  readonly digest: string
  declare readonly expiresAtMs?: number

  constructor(row: SecretRow) {
    this.id = row.id
    this.key = row.key_name
    this.digest = row.digest
    if (row.expires_at_ms !== null) this.expiresAtMs = row.expires_at_ms
  }
}

export function isOfSecretRow(secret: KeySecret | undefined, row: SecretRow): secret is RowSecret {
  return (
    secret !== undefined &&
    secret.key === row.key_name &&
    secret.digest === row.digest &&
    secret.expiresAtMs === (row.expires_at_ms ?? undefined)
  )
}

/** Secrets that did not come from a row sort first. */
export function compareSecrets(secret: KeySecret, id: number): number {
  return secret instanceof RowSecret ? secret.id - id : -1
}
