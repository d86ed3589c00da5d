import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import type { CallRecord, RejectedCall, Usage } from '../../src/schema/ledger.ts'
import { LedgerRows } from '../../src/store/ledger/ledger-rows.ts'
import type { Row } from '../../src/store/ledger/messages.ts'
import { insertRejected } from '../../src/store/ledger/rejected-calls.ts'
import { parsePostgresUrl } from '../../src/store/postgres/address.ts'
import { LaneConnection } from '../../src/store/postgres/ledger/lane-connection.ts'
import { insertRejected as insertRejectedIn } from '../../src/store/postgres/ledger/queries.ts'
import { isPostgresUrl } from '../../src/store/url.ts'
import { databaseOf } from '../support/postgres.ts'
import { postgresWriter } from '../support/postgres-writer.ts'
import { ON_POSTGRES } from '../support/test-engine.ts'

/** The start of a quarter of an hour, and what the clock of a test says. */
export const NOON_MS = Date.UTC(2026, 0, 15, 12)

const CLAIM = { attempt: 1, key: 'app', tenant: 'blue', publication: 'chat', endpoint: 'fast' }

export interface Call {
  readonly id: string
  readonly atMs?: number
  readonly key?: string
  /** `null` for a platform key. */
  readonly tenant?: string | null
  readonly publication?: string
  readonly endpoint?: string
  readonly amountNano?: bigint
  readonly usage?: Partial<Usage>
  readonly flags?: CallRecord['flags']
  /** What only the call log has. */
  readonly record?: Partial<CallRecord>
}

/**
 * Writes into a store what a gateway would: rows of the ledger, with every sum beside them, and of the call log.
 * @param at the URL of a database, or the path of the file in its folder, also if a database stands for it
 */
export async function write(at: string, rows: readonly Row[]): Promise<void> {
  const url = await databaseAt(at)
  if (url !== undefined) {
    await writePostgres(url, rows)
    return
  }
  const raw = new Database(at, { fileMustExist: true })
  try {
    const faults = new LedgerRows(raw).write(rows)
    if (faults.size > 0) throw new Error(`left out: ${JSON.stringify([...faults])}`)
  } finally {
    raw.close()
  }
}

async function databaseAt(at: string): Promise<string | undefined> {
  if (isPostgresUrl(at)) return at
  return ON_POSTGRES ? databaseOf(dirname(dirname(at))) : undefined
}

async function writePostgres(url: string, rows: readonly Row[]): Promise<void> {
  const writer = await postgresWriter(url)
  try {
    const faults = await writer.write(rows)
    if (faults.length > 0) throw new Error(`left out: ${faults.join()}`)
    await writer.fold()
  } finally {
    await writer.close()
  }
}

/** Writes what a gateway keeps of rejected calls. */
export async function writeRejected(at: string, calls: readonly RejectedCall[]): Promise<void> {
  const url = await databaseAt(at)
  if (url !== undefined) {
    const db = new LaneConnection(parsePostgresUrl(url, 'test'))
    await insertRejectedIn(db, calls)
    await db.close()
    return
  }
  const raw = new Database(at, { fileMustExist: true })
  try {
    insertRejected(raw, calls)
  } finally {
    raw.close()
  }
}

/** A call that was answered and billed. */
export function billed(call: Call): readonly Row[] {
  const { claim, usage, atMs, amountNano, flags } = filled(call)
  const { inputTokens } = usage
  return [
    held(call),
    ['end', { ...claim, kind: 'settle', endedAtMs: atMs, amountNano, usage, flags }],
    [
      'log',
      {
        ...claim,
        atMs,
        protocol: 'openai',
        path: '/v1/chat/completions',
        status: 200,
        stream: false,
        outcome: 'answered',
        ...(inputTokens > 0 && { usage }),
        amountNano,
        flags,
        latencyMs: 1_240,
        firstByteMs: 310,
        attempts: 1,
        ...call.record,
      },
    ],
  ]
}

/** A call that is still open. */
export function held(call: Call): Row {
  const { claim, atMs, amountNano } = filled(call)
  const { inputTokens } = filled(call).usage
  const hold = { openedAtMs: atMs, deadlineMs: atMs + 600_000, amountNano, tokens: 100 }
  return ['hold', { ...claim, ...hold, inputTokens, inputAmountNano: amountNano }]
}

/** A call that only the call log knows: nothing was held for it any more when it failed. */
export function logged(call: Call): Row {
  const row = billed(call).at(-1)
  if (!row) throw new Error('a billed call has a line')
  return row
}

function filled({ id, atMs = NOON_MS, amountNano = 750_000n, usage = {}, flags = [], ...more }: Call) {
  const { key = CLAIM.key, publication = CLAIM.publication, endpoint = CLAIM.endpoint, tenant } = more
  const owner = tenant === null ? {} : { tenant: tenant ?? CLAIM.tenant }
  return {
    claim: { requestId: id, attempt: 1, key, ...owner, publication, endpoint },
    atMs,
    amountNano,
    flags,
    usage: {
      inputTokens: 120,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: 45,
      searchUnits: 0,
      durationMs: 0,
      characters: 0,
      images: 0,
      ...usage,
    },
  }
}
