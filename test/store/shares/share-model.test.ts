import fc from 'fast-check'
import { test } from 'vitest'
import { ShareHolder } from '../../../src/limits/shares/share-holder.ts'
import { Grantor } from '../../../src/store/shares/grantor.ts'
import { wantedByDebit } from '../../../src/store/shares/rules.ts'
import { SqliteShareTables } from '../../../src/store/shares/sqlite-tables.ts'
import { runHistory, shareSteps, shareWorlds } from './share-model.ts'
import { inMaps, inSqlite } from './share-systems.ts'

const MODULES = { ShareHolder, Grantor, SqliteShareTables, wantedByDebit }

test('in any history no limit is passed, the shares are what is leased, and nothing is lost', {
  timeout: 120_000,
}, () => {
  const system = inMaps(MODULES)
  fc.assert(
    fc.property(shareWorlds, shareSteps, (world, steps) => runHistory(world, steps, system)),
    { numRuns: Number(process.env['GW_HISTORIES'] ?? 1_000) },
  )
})

test('the same in the tables of SQLite', { timeout: 120_000 }, async () => {
  const system = await inSqlite(MODULES)
  fc.assert(
    fc.property(shareWorlds, shareSteps, (world, steps) => runHistory(world, steps, system)),
    { numRuns: Number(process.env['GW_HISTORIES'] ?? 400) },
  )
})
