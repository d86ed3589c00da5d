import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Lock {
  readonly packages: Readonly<Record<string, { readonly gypfile?: boolean }>>
}

const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as Lock

/** npm compiles what has a `binding.gyp`, unless the lock file says otherwise; `npm install` forgets that it does. */
test('nothing is compiled: the lock file keeps npm from building the SQLite binding anew', () => {
  expect(lock.packages['node_modules/better-sqlite3']).toHaveProperty('gypfile', false)
})
