import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Which tests run on PostgreSQL as well. `npm test` and `npm run proofs` have the store in a file; `npm run postgres` runs all files of
 * {@link ON_BOTH} that open a store once more, with the store in PostgreSQL, except for those of {@link LEFT_OUT}.
 *
 * A test has its store from `emptyDatabase`, `controlScene`, `storeOfFolder`, or what uses one of them, such as `wholeGateway` and `gw`,
 * and so runs on both. A file that uses no PostgreSQL in `npm run postgres` fails there.
 */
const ON_BOTH = [
  'test/{store,admin,cli,services,server}/**/*.test.{ts,tsx}',
  'test/crash/*.proof.ts',
  'test/gateway/billing-paths.proof.ts',
]

/** Files of these folders by the reason why `npm run postgres` has them not. */
export const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  'They are about the file: its path, lock, permissions, damage, copies and the key beside it.': [
    'test/cli/backup.test.ts',
    'test/store/open.test.ts',
    'test/store/processes.test.ts',
    'test/store/ledger/full-disk.test.ts',
    'test/store/ledger/write-lock.test.ts',
  ],
  'They are about the journal before the file, and who folds it. On PostgreSQL: test/store/postgres/ledger.test.ts, test/crash/many-faults.proof.ts.':
    [
      'test/store/journal/leftovers.test.ts',
      'test/store/ledger/journaled-ledger.test.ts',
      'test/store/ledger/lease.test.ts',
      'test/store/ledger/rejected-calls.test.ts',
      'test/store/ledger/writer.test.ts',
      'test/server/ledger-runtime.test.ts',
      'test/crash/power-loss.proof.ts',
      'test/crash/store-faults.proof.ts',
    ],
  'They are about lanes of a file, and a gateway that is alone. On PostgreSQL: test/store/postgres/shares.test.ts, test/crash/many.proof.ts.':
    ['test/server/several-gateways.test.ts', 'test/crash/several.proof.ts'],
  'They write and read the tables of SQLite. On PostgreSQL: test/store/postgres/archive.test.ts, test/store/postgres/verify.test.ts.':
    [
      'test/services/changes/blast/radius.test.ts',
      'test/store/ledger/archive.test.ts',
      'test/store/ledger/groups.test.ts',
      'test/store/ledger/log-filters.test.ts',
      'test/store/ledger/verify.test.ts',
    ],
  'They convert files of older versions. On PostgreSQL: test/store/postgres/migrate.test.ts.': [
    'test/cli/store-opens.test.ts',
    'test/store/expansions.test.ts',
    'test/store/older-store.test.ts',
  ],
  'It runs the rules against the statements of SQLite. On PostgreSQL: test/store/postgres/shares.test.ts.': [
    'test/store/shares/share-model.test.ts',
  ],
  'It reads the plans of the planner of SQLite.': ['test/admin/list-plans.test.ts'],
  'On PostgreSQL a prepaid hold is admitted from shares: test/crash/many.proof.ts.': [
    'test/store/ledger/prepaid.test.ts',
  ],
  'They promise nothing of a store.': [
    'test/admin/pages/console.test.ts',
    'test/admin/pages/pages.test.ts',
    'test/cli/explain.test.ts',
    'test/cli/probe-process.test.ts',
    'test/cli/serve-traces.test.ts',
    'test/cli/serve-uploads.test.ts',
    'test/cli/test.test.ts',
    'test/cli/validate.test.ts',
    'test/crash/black-hole.proof.ts',
    'test/crash/descriptors.proof.ts',
    'test/crash/nodes.proof.ts',
    'test/crash/stalled-reader.proof.ts',
    'test/server/descriptors.test.ts',
    'test/server/metrics.test.ts',
    'test/server/proxy.test.ts',
    'test/server/upstream-tls.test.ts',
    'test/server/workers/control-thread.test.ts',
    'test/server/workers/remote-control.test.ts',
  ],
  'They take long: see `GW_TEST_ENGINE=postgres` in CONTRIBUTING.md.': [
    'test/crash/node-kills.proof.ts',
    'test/crash/reload.proof.ts',
    'test/crash/workers.proof.ts',
    'test/gateway/billing-paths.proof.ts',
  ],
  'They use PostgreSQL wherever they run.': [
    'test/crash/forget.proof.ts',
    'test/crash/many-faults.proof.ts',
    'test/crash/many.proof.ts',
    'test/crash/pgbouncer.proof.ts',
  ],
}

/** What opens a store, or starts a program that does. */
const OPENS_STORE =
  /better-sqlite3|src\/store\/(open|database)|open-ledger|src\/server\/serve|src\/cli\/main|cli\/process|crash\/scene|support\/postgres/

/** Whether a test, or something in `test` that it imports, can open a store. */
export function opensStore(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file) || !existsSync(file)) return false
  seen.add(file)
  const imports = readFileSync(file, 'utf8').matchAll(/^import (?!type )[^;]*? from '([^']+)'/gms)
  return [...imports].some(([, from = '']) => {
    const target = from.startsWith('.') ? join(dirname(file), from) : from
    return OPENS_STORE.test(target) || (target.startsWith('test/') && opensStore(target, seen))
  })
}

/** What `npm run postgres` runs. */
export function filesOnPostgres(): string[] {
  const leftOut = new Set(Object.values(LEFT_OUT).flat())
  return globSync(ON_BOTH).filter(file => !leftOut.has(file) && opensStore(file))
}
