import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { StoreMode } from '../../src/store/database.ts'
import { MIGRATIONS } from '../../src/store/migrations/list.ts'
import { MIGRATION_NAMES } from '../../src/store/migrations/names.ts'
import { openStore } from '../../src/store/open.ts'
import { closeSession, openSession } from '../../src/store/session.ts'
import type { Store } from '../../src/store/types.ts'
import { tempDir } from '../support/temp-dir.ts'
import { endpoint, put } from './samples.ts'

const EVERY_MODE: StoreMode[] = ['read', 'write', 'create']

const LATER = '9000-later'

/** Adds a migration for the duration of the test. */
function addMigration(up: Migration['up']): void {
  const names: unknown[] = MIGRATION_NAMES as never
  const migrations: Record<string, Migration> = MIGRATIONS
  names.push(LATER)
  migrations[LATER] = { up }
  onTestFinished(() => {
    names.pop()
    delete migrations[LATER]
  })
}

function setUp() {
  const folder = tempDir(onTestFinished)
  return {
    folder,
    open: async (mode: StoreMode, url = 'sqlite:gw.db'): Promise<Store> => {
      const store = await openStore(url, { mode, clock: systemClock, folder: folder.path })
      onTestFinished(() => store.close())
      return store
    },
    raw: (statement: string) => {
      const raw = new Database(folder.at('gw.db'))
      raw.exec(statement)
      raw.close()
    },
  }
}

describe('the file', () => {
  test('is created with its folder, for the eyes of its owner only, side files included', async () => {
    const { folder, open } = setUp()
    const store = await open('create', 'sqlite:./data/deep/gw.db')
    await put(store, endpoint('a'))
    const mode = (path: string) => (statSync(folder.at(path)).mode & 0o777).toString(8)
    expect(mode('data')).toBe('700')
    expect(readdirSync(folder.at('data/deep')).map(file => [file, mode(`data/deep/${file}`)])).toEqual([
      ['gw.db', '600'],
      ['gw.db-shm', '600'],
      ['gw.db-wal', '600'],
    ])
  })

  test.each(['read', 'write'] as const)('is not created by mode %s', async mode => {
    const { folder, open } = setUp()
    await expect(open(mode, 'sqlite:data/gw.db')).rejects.toMatchObject({ code: 'store_missing' })
    expect(readdirSync(folder.path)).toEqual([])
  })

  test('that is empty is no store yet for a reader, and becomes one for a writer', async () => {
    const { folder, open } = setUp()
    folder.write('gw.db', '')
    await expect(open('read')).rejects.toMatchObject({ code: 'store_missing' })
    await put(await open('write'), endpoint('a'))
    expect(await (await open('read')).head()).toEqual({ revision: 1, keyVersion: 0 })
  })

  test.each(EVERY_MODE)('that is no database is rejected in mode %s and left as it is', async mode => {
    const { folder, open } = setUp()
    folder.write('gw.db', 'x'.repeat(4_096))
    await expect(open(mode)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(readdirSync(folder.path)).toEqual(['gw.db'])
    expect(statSync(folder.at('gw.db')).size).toBe(4_096)
  })

  test.each(EVERY_MODE)('that is a folder is rejected in mode %s', async mode => {
    const { folder, open } = setUp()
    mkdirSync(folder.at('gw.db'))
    await expect(open(mode)).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('below something that is no folder is rejected', async () => {
    const { folder, open } = setUp()
    folder.write('file', '')
    await expect(open('create', 'sqlite:file/gw.db')).rejects.toMatchObject({ code: 'store_unavailable' })
    await expect(open('read', 'sqlite:file/gw.db')).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('in a file system that makes no folders is an error at once', async () => {
    const { open } = setUp()
    await expect(open('create', 'sqlite:/proc/x/y.db')).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('in folders that are missing has them made, for their owner alone', async () => {
    const { folder, open } = setUp()
    await (await open('create', 'sqlite:a/b/c/gw.db')).close()
    for (const made of ['a', 'a/b', 'a/b/c']) expect(statSync(folder.at(made)).mode & 0o777).toBe(0o700)
  })

  test.each(EVERY_MODE)('that belongs to another program is rejected in mode %s', async mode => {
    const { open, raw } = setUp()
    raw('create table users (id integer)')
    await expect(open(mode)).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('another program'),
    })
  })

  test.each(EVERY_MODE)('that a newer gw wrote is rejected in mode %s', async mode => {
    const { open, raw } = setUp()
    await (await open('create')).close()
    raw(`insert into kysely_migration values ('9999-future', 'now')`)
    await expect(open(mode)).rejects.toMatchObject({
      code: 'store_too_new',
      message: expect.stringContaining('9999-future'),
    })
  })

  test('that an older gw wrote is for writers to bring up to date', async () => {
    const { open } = setUp()
    const older = await open('create')
    await put(older, endpoint('a'))
    await older.close()
    addMigration(async db => {
      await sql`create table later (id integer primary key)`.execute(db)
    })
    await expect(open('read')).rejects.toMatchObject({
      code: 'store_outdated',
      message: expect.stringContaining(LATER),
    })
    await (await open('write')).close()
    const store = await open('read')
    expect((await store.live()).resources).toHaveLength(1)
    expect(await store.accounting.verify()).toMatchObject({ entries: 0, findings: [] })
  })

  test.each(EVERY_MODE)(
    'that a development version before the baseline wrote is rejected in mode %s',
    async mode => {
      const { folder, open, raw } = setUp()
      raw(`
      create table kysely_migration (name text primary key, timestamp text not null);
      insert into kysely_migration values ('0001-configuration', 'now'), ('0014-revision-changes', 'now');
      create table head (id integer)`)
      const before = readFileSync(folder.at('gw.db'))
      await expect(open(mode)).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining('development version'),
        hint: expect.stringContaining('gw export'),
      })
      const db = new Database(folder.at('gw.db'), { readonly: true })
      onTestFinished(() => void db.close())
      expect(db.prepare('select count(*) from kysely_migration').pluck().get()).toBe(2)
      expect(before.length).toBe(statSync(folder.at('gw.db')).size)
    },
  )

  test('of a reader can be read while others write, and cannot be written', async () => {
    const { open } = setUp()
    const writer = await open('create')
    const reader = await open('read')
    await put(writer, endpoint('a'))
    expect((await reader.live()).resources).toHaveLength(1)
    await expect(put(reader, endpoint('b'))).rejects.toMatchObject({ code: 'store_unavailable' })
  })
})

describe('the schema', () => {
  test('is made once by any number that open at the same time', async () => {
    const { open } = setUp()
    const stores = await Promise.all(Array.from({ length: 5 }, () => open('create')))
    for (const store of stores) expect(await store.head()).toEqual({ revision: 0, keyVersion: 0 })
  })

  test('is made whole or not at all', async () => {
    const { folder, open } = setUp()
    addMigration(() => Promise.reject(new Error('broken')))
    await expect(open('create')).rejects.toThrow('broken')
    const raw = new Database(folder.at('gw.db'))
    onTestFinished(() => void raw.close())
    expect(raw.prepare('select name from sqlite_schema').all()).toEqual([])
  })
})

test('a migration is named as its module is, and is among the names that a start compares with', () => {
  const files = readdirSync(new URL('../../src/store/migrations/', import.meta.url))
  const modules = files.filter(file => /^\d/.test(file)).sort()
  expect(Object.keys(MIGRATIONS).map(name => `${name}.ts`)).toEqual(modules)
  expect(Object.keys(MIGRATIONS)).toEqual(MIGRATION_NAMES)
})

test('every connection has the pragmas that durability rests on', async () => {
  const { folder, open } = setUp()
  await open('create')
  for (const mode of EVERY_MODE) {
    const session = await openSession(folder.at('gw.db'), mode)
    onTestFinished(() => closeSession(session))
    const pragma = (name: string) => session.raw.pragma(name, { simple: true })
    expect({
      journal: pragma('journal_mode'),
      synchronous: pragma('synchronous'),
      foreignKeys: pragma('foreign_keys'),
      busyMs: pragma('busy_timeout'),
      journalBytes: pragma('journal_size_limit'),
    }).toEqual({ journal: 'wal', synchronous: 2, foreignKeys: 1, busyMs: 5_000, journalBytes: 67_108_864 })
  }
})

describe('a file that is replaced', () => {
  /** Two databases, `gw.db` open at revision 1 and `new.db` closed at revision 2. */
  async function replaceable(mode: StoreMode) {
    const given = setUp()
    const writer = await given.open('create')
    await put(writer, endpoint('old'))
    const other = await given.open('create', 'sqlite:new.db')
    await put(other, endpoint('a'))
    await put(other, endpoint('b'))
    await other.close()
    await writer.close()
    const store = await given.open(mode)
    await store.readState()
    return { ...given, store }
  }

  test.each(['read', 'write'] as const)('is noticed and followed in mode %s', async mode => {
    const { folder, store } = await replaceable(mode)
    expect(store.changed()).toBe(false)
    for (const side of ['-wal', '-shm']) rmSync(folder.at(`gw.db${side}`), { force: true })
    renameSync(folder.at('new.db'), folder.at('gw.db'))
    expect(store.changed()).toBe(true)
    expect(await store.readState()).toMatchObject({ revision: 2, resources: [{ name: 'a' }, { name: 'b' }] })
    expect(store.changed()).toBe(false)
  })

  test('is not opened beside the write-ahead log of the old one', async () => {
    const { folder, store } = await replaceable('write')
    await put(store, endpoint('in-the-log'))
    renameSync(folder.at('new.db'), folder.at('gw.db'))
    await expect(store.readState()).rejects.toMatchObject({
      code: 'store_unavailable',
      hint: expect.stringContaining('gw.db-wal'),
    })
    expect(store.changed()).toBe(true)
    for (const side of ['-wal', '-shm']) rmSync(folder.at(`gw.db${side}`))
    expect(await store.readState()).toMatchObject({ revision: 2 })
  })

  test('is waited for while nothing stands in its place, and never made anew', async () => {
    const { folder, store } = await replaceable('write')
    for (const side of ['', '-wal', '-shm']) rmSync(folder.at(`gw.db${side}`), { force: true })
    expect(store.changed()).toBe(false)
    await expect(put(store, endpoint('lost'))).rejects.toMatchObject({ code: 'store_missing' })
    renameSync(folder.at('new.db'), folder.at('gw.db'))
    expect(store.changed()).toBe(true)
    expect(await store.readState()).toMatchObject({ revision: 2 })
  })

  test('by something that is no store is rejected until it is one', async () => {
    const { folder, store } = await replaceable('write')
    rmSync(folder.at('gw.db-wal'))
    writeFileSync(folder.at('half.db'), 'x'.repeat(4_096))
    renameSync(folder.at('half.db'), folder.at('gw.db'))
    for (const _ of [1, 2])
      await expect(store.readState()).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(store.changed()).toBe(true)
    renameSync(folder.at('new.db'), folder.at('gw.db'))
    expect(await store.readState()).toMatchObject({ revision: 2 })
  })
})
