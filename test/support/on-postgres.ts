import { afterAll, expect } from 'vitest'
import { databasesMade } from './postgres.ts'

/** Runs with each file of `npm run postgres`: one that uses no database is not a test of PostgreSQL, whatever it says. */
const before = databasesMade()
afterAll(() => {
  if (databasesMade() === before)
    throw new Error(`${expect.getState().testPath} has used no database of PostgreSQL: see test/engines.ts`)
})
