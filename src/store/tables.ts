import type { Generated } from 'kysely'
import type { Origin, Owner } from './types.ts'

/** The tables, as the migrations leave them. Times are milliseconds since the epoch. */
export interface Tables {
  head: HeadTable
  revisions: RevisionsTable
  resources: ResourcesTable
  key_secrets: KeySecretsTable
  key_holds: KeyHoldsTable
}

/** One row: what a poll compares. */
interface HeadTable {
  id: 1
  revision: number
  key_version: number
}

/** Append-only; triggers see to it. */
export interface RevisionsTable {
  id: number
  base: number
  set_name: string | null
  origin: Origin
  author: string | null
  git_commit: string | null
  created_at_ms: number
  /** JSON of `Counts`. */
  counts: string
  /** JSON of all resources of the revision, each an object of the columns of `resources`. */
  document: string
}

export interface ResourcesTable {
  kind: string
  name: string
  /** Canonical JSON. */
  spec: string
  owner: Owner
  set_name: string | null
  source_file: string | null
  source_line: number | null
  created_revision: number
  updated_revision: number
  /** When `created_revision` was committed. */
  created_at_ms: number
}

export interface KeySecretsTable {
  id: Generated<number>
  key_name: string
  /** SHA-256 in lower-case hexadecimal digits. */
  digest: string
  created_at_ms: number
  expires_at_ms: number | null
  revoked_at_ms: number | null
}

interface KeyHoldsTable {
  key_name: string
  held_at_ms: number
}
