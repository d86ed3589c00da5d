import Database from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { LedgerRows } from '../../../src/store/ledger/ledger-rows.ts'
import { LedgerQueries } from '../../../src/store/ledger/queries.ts'
import { MIGRATIONS } from '../../../src/store/migrations/list.ts'
import { MIGRATION_NAMES } from '../../../src/store/migrations/names.ts'
import { openStore } from '../../../src/store/open.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { hold, NOON_MS, settle } from './rows.ts'

/** Before open holds were kept by their entries alone. */
const OLDER = MIGRATION_NAMES.filter(name => name < '0011')

/** A store of an older gw, which was killed with two holds open, one without a line for the call log. */
async function olderStore(): Promise<string> {
  const path = tempDir(onTestFinished).at('gw.db')
  const raw = new Database(path)
  const db = new Kysely<never>({ dialect: new SqliteDialect({ database: raw }) })
  for (const name of OLDER) await MIGRATIONS[name].up(db)
  raw.exec(`
    create table kysely_migration (name text primary key, timestamp text not null);
    create table kysely_migration_lock (id text primary key, is_locked integer not null default 0);
    insert into kysely_migration_lock values ('migration_lock', 0);
    insert into kysely_migration select value, '2026-01-01T00:00:00.000Z' from json_each('${JSON.stringify(OLDER)}');
    insert into ledger_prices values (1, 'a price');
    insert into ledger (kind, request_id, attempt, key_name, tenant, publication, endpoint, at_ms, amount_nano,
      deadline_ms, tokens, input_tokens, input_amount_nano)
    select 'hold', value, 1, 'app', 'acme', 'gpt', 'east', ${NOON_MS}, 900, ${NOON_MS + 60_000}, 500, 110, 110
    from json_each('["b", "a"]');
    insert into open_holds (request_id, attempt, entry_id, at_ms, deadline_ms, key_name, tenant, publication,
      endpoint, amount_nano, tokens, input_tokens, input_amount_nano, path, stream, price_id)
    select request_id, attempt, id, at_ms, deadline_ms, key_name, tenant, publication, endpoint, amount_nano, tokens,
      input_tokens, input_amount_nano, iif(id = 1, '/v1/embeddings', null), iif(id = 1, 0, null), iif(id = 1, 1, null)
    from ledger`)
  raw.close()
  return path
}

test('what an older gw has left open is open, and ends as what it was', async () => {
  const path = await olderStore()
  const store = await openStore(`sqlite:${path}`, { mode: 'write', clock: systemClock })
  onTestFinished(() => store.close())
  expect(await store.accounting.wallet('acme')).toMatchObject({ heldNano: 1_800n })

  const raw = new Database(path)
  onTestFinished(() => void raw.close())
  const questions = new LedgerQueries(raw)
  const b = hold('b', { call: { path: '/v1/embeddings', stream: false } })
  expect(questions.answer({ query: 'orphaned' })).toEqual([b, hold('a')])
  expect(questions.answer({ query: 'overdue', deadlineBeforeMs: NOON_MS + 60_000 })).toEqual([hold('a'), b])

  const book = new LedgerRows(raw)
  expect(book.write([['end', settle('b')]]).size).toBe(0)
  expect(book.write([['hold', hold('a')]])).toEqual(new Map([[0, 'held_twice']]))
  expect(questions.answer({ query: 'orphaned' })).toEqual([hold('a')])
  const billed = `select price from ledger join ledger_prices p on p.id = price_id where kind = 'settle'`
  expect(raw.prepare(billed).all()).toEqual([{ price: 'a price' }])
  expect(await store.accounting.wallet('acme')).toMatchObject({ balanceNano: -400n, heldNano: 900n })
})
