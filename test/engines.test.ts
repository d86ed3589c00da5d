import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { filesOnPostgres, LEFT_OUT, opensStore } from './engines.ts'

test('every file that is left out on PostgreSQL exists, is named once, and opens a store', () => {
  const files = Object.values(LEFT_OUT).flat()
  expect(new Set(files).size).toBe(files.length)
  expect(files.filter(file => !opensStore(file))).toEqual([])
})

test('where something else is named for PostgreSQL, it exists', () => {
  const named = Object.keys(LEFT_OUT).flatMap(reason => reason.match(/test\/[\w/-]+\.ts/g) ?? [])
  expect(named.filter(file => !existsSync(file))).toEqual([])
})

test('a file that opens a store, itself or with what it imports, is run on PostgreSQL, and no other', () => {
  const files = filesOnPostgres()
  for (const file of ['test/store/commit.test.ts', 'test/cli/keys.test.ts', 'test/crash/kill.proof.ts'])
    expect(files).toContain(file)
  for (const file of ['test/store/url.test.ts', 'test/services/changes/plan.test.ts'])
    expect(files).not.toContain(file)
})
