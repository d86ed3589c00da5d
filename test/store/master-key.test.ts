import { randomBytes } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemRandom } from '../../src/base/random.ts'
import { MasterKey } from '../../src/store/master-key.ts'
import { tempDir } from '../support/temp-dir.ts'

const STORE = 'sqlite:./gw.db'

function setUp(text?: string) {
  const dir = tempDir(onTestFinished)
  return { dir, key: MasterKey.of(STORE, dir.path, text) }
}

describe('the master key', () => {
  test('is made when it is first needed, beside the store, for its owner alone', async () => {
    const { dir, key } = setUp()
    await expect(key.read()).rejects.toMatchObject({ code: 'master_key_unusable', message: /does not exist/ })
    expect(readdirSync(dir.path)).toEqual([])
    const made = await key.readOrCreate(systemRandom)
    expect(made).toHaveLength(32)
    expect(readdirSync(dir.path)).toEqual(['gw.db.key'])
    expect(statSync(dir.at('gw.db.key')).mode & 0o777).toBe(0o600)
    expect(await key.read()).toEqual(made)
    expect(await key.readOrCreate(systemRandom)).toEqual(made)
    expect(await MasterKey.of(STORE, dir.path, undefined).read()).toEqual(made)
  })

  test('is one, however many make it at once', async () => {
    const { dir } = setUp()
    const made = await Promise.all(
      Array.from({ length: 20 }, () => MasterKey.of(STORE, dir.path, '').readOrCreate(systemRandom)),
    )
    expect(new Set(made.map(bytes => Buffer.from(bytes).toString('hex'))).size).toBe(1)
    expect(readdirSync(dir.path)).toEqual(['gw.db.key'])
  })

  test('is the one that was given, and no file is made or read then', async () => {
    const bytes = randomBytes(32)
    const { dir, key } = setUp(bytes.toString('base64'))
    writeFileSync(dir.at('gw.db.key'), `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
    expect(Buffer.from(await key.read())).toEqual(bytes)
    const other = setUp(bytes.toString('hex'))
    expect(Buffer.from(await other.key.readOrCreate(systemRandom))).toEqual(bytes)
    expect(readdirSync(other.dir.path)).toEqual([])
  })

  test('that was given and is none is rejected at the start, without being repeated', () => {
    const text = 'hunter2-hunter2'
    expect(() => MasterKey.of(STORE, '.', text)).toThrow(
      expect.objectContaining({ code: 'usage', message: expect.not.stringContaining(text) }) as Error,
    )
  })

  test.each([0o604, 0o644, 0o666])('is not trusted where every user may read it: %o', async mode => {
    const { dir, key } = setUp()
    await key.readOrCreate(systemRandom)
    chmodSync(dir.at('gw.db.key'), mode)
    await expect(key.read()).rejects.toMatchObject({ code: 'master_key_unusable', message: /chmod 600/ })
    await expect(key.readOrCreate(systemRandom)).rejects.toMatchObject({ code: 'master_key_unusable' })
  })

  test('may be readable by a group, as volumes of Kubernetes are', async () => {
    const { dir, key } = setUp()
    const made = await key.readOrCreate(systemRandom)
    chmodSync(dir.at('gw.db.key'), 0o660)
    expect(await key.read()).toEqual(made)
  })

  test('is not replaced where its file holds something else', async () => {
    const { dir, key } = setUp()
    writeFileSync(dir.at('gw.db.key'), 'no key\n', { mode: 0o600 })
    await expect(key.readOrCreate(systemRandom)).rejects.toMatchObject({
      code: 'master_key_unusable',
      message: expect.not.stringContaining('no key\n') as string,
    })
    expect(readFileSync(dir.at('gw.db.key'), 'utf8')).toBe('no key\n')
  })

  test('may be a link, as secrets are mounted', async () => {
    const { dir, key } = setUp()
    const bytes = randomBytes(32)
    writeFileSync(dir.at('mounted'), bytes.toString('base64'), { mode: 0o400 })
    symlinkSync(dir.at('mounted'), dir.at('gw.db.key'))
    expect(Buffer.from(await key.read())).toEqual(bytes)
  })

  test('that cannot be made says where', async () => {
    const { dir } = setUp()
    const key = MasterKey.of('sqlite:./missing/gw.db', dir.path, undefined)
    await expect(key.readOrCreate(systemRandom)).rejects.toMatchObject({
      code: 'master_key_unusable',
      message: expect.stringContaining(dir.at('missing/gw.db.key')) as string,
    })
  })
})
