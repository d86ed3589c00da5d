import { toFlags } from '../../src/store/ledger/columns.ts'
import { requestIdOf } from '../../src/store/postgres/ledger/request-id.ts'
import type { TestDatabase } from '../support/postgres.ts'
import type { Books } from './limits-under-load.ts'

/** What a store in PostgreSQL has in the end. */
export async function postgresBooks(database: TestDatabase): Promise<Books> {
  const ends = await database.query<{ id: string; nano: string; flags: number }>(
    `select ${requestIdOf('request')} as id, amount_nano::text as nano, flags from ledger where kind <= 1`,
  )
  const keys = await database.query<{ key: string; nano: string; tokens: string }>(
    `select name as key, sum(amount_nano)::text as nano, sum(input_tokens + output_tokens)::text as tokens
     from ledger join ledger_names on ledger_names.id = key_id where kind = 0 group by 1`,
  )
  // A hold that the store got although its call was rejected is released as `unavailable`: its request is not counted.
  const times = await database.query<{ at: string }>(
    `select opened_at_ms as at from ledger join ledger_names on ledger_names.id = key_id
     where kind <= 1 and name = 'rate'
       and reason_id is distinct from (select id from ledger_names where name = 'unavailable') order by 1`,
  )
  const [open] = await database.query<{ count: string }>('select count(*) from open_holds')
  const [leftShares] = await database.query(
    `select (select count(*)::int from instances) as instances, (select count(*)::int from shares) as shares,
      (select count(*)::int from scopes where leased <> 0) as "notReturned"`,
  )
  return {
    charges: new Map(
      ends.map(({ id, nano, flags }) => [id, { nano: BigInt(nano), flags: toFlags(flags).join() }]),
    ),
    open: Number(open?.count),
    keys: new Map(keys.map(({ key, nano, tokens }) => [key, { nano: Number(nano), tokens: Number(tokens) }])),
    rateTimes: times.map(({ at }) => Number(at)),
    leftShares,
  }
}
