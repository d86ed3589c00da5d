import process from 'node:process'

/** `postgres` in `npm run postgres`, see `test/engines.ts`; else stores are in files. */
export const TEST_ENGINE = process.env['GW_TEST_ENGINE']
export const ON_POSTGRES = TEST_ENGINE === 'postgres'
/** With `GW_TEST_POOLER=1` the stores of `npm run postgres` are behind pgbouncer in transaction mode. */
export const BEHIND_POOLER = Boolean(process.env['GW_TEST_POOLER'])
