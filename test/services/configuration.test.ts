import { execFileSync } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemRandom } from '../../src/base/random.ts'
import {
  applyConfiguration,
  exportConfiguration,
  planConfiguration,
  validateConfiguration,
} from '../../src/services/configuration.ts'
import type { AppPorts } from '../../src/services/context.ts'
import { type CommandStore, withCommandStore, withStore } from '../../src/services/stored.ts'
import { openStore } from '../../src/store/open.ts'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { testClock } from '../support/test-clock.ts'

const TREE = `version: 1
endpoints: { one: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: m, upstream_key: { env: NOT_SET } } }
publications: { gpt: { price: { input: 1 }, bindings: [{ endpoint: one }] } }
`
const agree = async () => undefined

function world(dir: TempDir, more: Partial<AppPorts> = {}): AppPorts {
  return {
    environment: { PATH: process.env['PATH'], HOME: dir.path, USER: 'ops', GIT_CONFIG_NOSYSTEM: '1' },
    cwd: dir.path,
    clock: testClock(),
    random: systemRandom,
    signal: new AbortController().signal,
    readStdin: () => Promise.resolve(Buffer.alloc(0)),
    ...more,
  }
}

async function revisions(dir: TempDir) {
  const store = await openStore(await storeOfFolder(dir.path), { mode: 'read', clock: testClock() })
  try {
    return await store.revisions()
  } finally {
    await store.close()
  }
}

async function inCommandStore<T>(ports: AppPorts, work: (stored: CommandStore) => Promise<T>): Promise<T> {
  return withCommandStore(await storeOfFolder(ports.cwd), 'write', ports, work)
}

describe('applying a tree', () => {
  it('records who, when, and the git commit of the files', async () => {
    const dir = tempDir(onTestFinished)
    const file = dir.write('conf/gw.yaml', TREE)
    const ports = world(dir)
    const git = (...words: string[]) =>
      execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...words], {
        cwd: dir.at('conf'),
        env: ports.environment,
        encoding: 'utf8',
      }).trim()
    git('init', '-q')
    git('add', '.')
    git('commit', '-q', '-m', 'first')
    await inCommandStore(ports, stored => applyConfiguration([file], stored, ports, agree))
    expect(await revisions(dir)).toMatchObject([
      {
        id: 1,
        origin: 'apply',
        set: 'default',
        author: 'Ada <ada@example.com>',
        gitCommit: git('rev-parse', 'HEAD'),
        createdAtMs: ports.clock.nowMs(),
        counts: { create: 3, update: 0, delete: 0, unchanged: 0 },
      },
    ])
  })

  it('is a decision of the review: one that throws leaves no store behind', async () => {
    const dir = tempDir(onTestFinished)
    const file = dir.write('gw.yaml', TREE)
    const rejection = new Error('no')
    const reject = () => Promise.reject(rejection)
    await expect(
      inCommandStore(world(dir), stored => applyConfiguration([file], stored, world(dir), reject)),
    ).rejects.toBe(rejection)
    await expect(revisions(dir)).rejects.toMatchObject({ code: 'store_missing' })
  })

  it('ends before the transaction where a signal came during the review', async () => {
    const dir = tempDir(onTestFinished)
    const file = dir.write('gw.yaml', TREE)
    const controller = new AbortController()
    const reason = new Error('interrupted')
    const interrupt = async () => controller.abort(reason)
    const ports = world(dir, { signal: controller.signal })
    await expect(
      inCommandStore(ports, stored => applyConfiguration([file], stored, ports, interrupt)),
    ).rejects.toBe(reason)
    await expect(revisions(dir)).rejects.toMatchObject({ code: 'store_missing' })
  })

  it('writes nothing that no gateway could serve, and says why', async () => {
    const dir = tempDir(onTestFinished)
    const key = `{ kind: platform, hash: "sha256:${'a'.repeat(64)}" }`
    const first = dir.write('a.yaml', `version: 1\nset: a\nkeys: { one: ${key} }\n`)
    const second = dir.write('b.yaml', `version: 1\nset: b\nkeys: { two: ${key} }\n`)
    await inCommandStore(world(dir), stored => applyConfiguration([first], stored, world(dir), agree))
    await expect(
      inCommandStore(world(dir), stored => applyConfiguration([second], stored, world(dir), agree)),
    ).rejects.toMatchObject({
      code: 'not_servable',
      message: expect.stringContaining('two'),
    })
    expect(await revisions(dir)).toHaveLength(1)
  })

  it('needs no secret that the files refer to', async () => {
    const dir = tempDir(onTestFinished)
    const file = dir.write('gw.yaml', TREE)
    const { applied } = await inCommandStore(world(dir), stored =>
      applyConfiguration([file], stored, world(dir), agree),
    )
    expect(applied.revision).toBe(1)
    expect(
      (
        await withStore(await storeOfFolder(dir.path), 'read', world(dir), store =>
          exportConfiguration({ store }, { set: undefined }),
        )
      ).yaml,
    ).toContain('env: NOT_SET')
  })
})

describe('planning', () => {
  it('reads an absent store as an empty one', async () => {
    const dir = tempDir(onTestFinished)
    const file = dir.write('gw.yaml', TREE)
    const { plan } = await inCommandStore(world(dir), stored => planConfiguration([file], stored, world(dir)))
    expect(plan).toMatchObject({ base: 0, counts: { create: 3 } })
  })
})

describe('validating', () => {
  it('throws one error that holds every problem', async () => {
    const dir = tempDir(onTestFinished)
    const file = dir.write('gw.yaml', 'version: 1\nendpoints: { a: {}, b: { protocol: x } }\n')
    await expect(validateConfiguration([file], world(dir))).rejects.toMatchObject({
      code: 'configuration_invalid',
      problems: expect.arrayContaining([expect.objectContaining({ code: 'missing_field' })]),
    })
  })
})
