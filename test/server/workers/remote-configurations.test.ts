import { expect, onTestFinished, test } from 'vitest'
import { configurationsOn } from '../../../src/admin/configurations.ts'
import { asApiError } from '../../../src/admin/error-response.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { RemoteConfigurations } from '../../../src/server/workers/remote-configurations.ts'
import { openStore } from '../../../src/store/open.ts'
import { digest } from '../../store/samples.ts'
import { storeOfFolder } from '../../support/store-of-folder.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** As `npm test` has built it. */
const MODULES = new URL('../../../dist/server/workers/', import.meta.url)

const ADA = {
  actor: { origin: 'rest', name: 'ada', role: 'admin' },
  authority: { session: digest('a'), role: 'admin' },
} as const
const BOB = {
  actor: { origin: 'rest', name: 'bob', role: 'admin' },
  authority: { session: digest('b'), role: 'admin' },
} as const

/** Configurations of one store, in a thread and without. */
async function setUp() {
  const cwd = tempDir(onTestFinished).path
  const storeUrl = await storeOfFolder(cwd)
  const store = await openStore(storeUrl, { mode: 'create', clock: systemClock, folder: cwd })
  onTestFinished(() => store.close())
  for (const { actor, authority } of [ADA, BOB]) {
    await store.users.createUser({ name: actor.name, role: 'admin', passwordHash: 'none' })
    const session = { user: actor.name, passwordHash: 'none', carrier: 'bearer', address: '::1' } as const
    await store.users.openSession({ ...session, digest: authority.session })
  }
  const settings = { storeUrl, cwd, environment: {} }
  const remote = new RemoteConfigurations(settings, systemClock, MODULES)
  onTestFinished(() => remote.end())
  const here = configurationsOn({
    store,
    check: async () => [],
    clock: systemClock,
    probe: async () => [],
    readFile: async () => undefined,
    signal: new AbortController().signal,
  })
  return { store, remote, here }
}

const keys = (count: number) =>
  `version: 1\ntenants: { t: {} }\nkeys:\n${Array.from({ length: count }, (_, index) => `  k${index}: { kind: tenant, tenant: t }\n`).join('')}`

const NOTHING_ALLOWED = { allow_deletes: 0, skip_probe: true }

test('says of a configuration what is said without a thread: its plan, or what is wrong with it', async () => {
  const { remote, here } = await setUp()
  for (const yaml of [keys(3), keys(2).replace('tenant: t', 'tenat: t'), ': nonsense', '']) {
    const shown = (answer: Promise<unknown>) =>
      answer.catch((error: unknown) => {
        const { code, message, errors, more } = asApiError(error)
        return { code, message, errors, more }
      })
    expect(await shown(remote.validate(yaml))).toEqual(await shown(here.validate(yaml)))
    expect(await shown(remote.plan(yaml))).toEqual(await shown(here.plan(yaml)))
  }
})

test('applies and rolls back, in the name of who asks', async () => {
  const { remote, store } = await setUp()
  const applied = await remote.apply({ yaml: keys(2), base: 0, ...NOTHING_ALLOWED }, ADA)
  expect(applied).toMatchObject({
    applied: true,
    revision: 1,
    plan: { set: 'default', counts: { create: 3, update: 0, delete: 0, unchanged: 0 } },
    probes: [],
  })
  const late = remote.apply({ yaml: keys(1), base: 0, ...NOTHING_ALLOWED }, ADA)
  await expect(late).rejects.toMatchObject({ code: 'changed_meanwhile' })
  const fewer = remote.apply({ yaml: keys(1), base: 1, ...NOTHING_ALLOWED }, ADA)
  await expect(fewer).rejects.toMatchObject({ code: 'too_many_deletes' })
  expect(await remote.rollBack({ revision: 1, dry_run: false }, BOB)).toMatchObject({ revision: 1 })
  await expect(remote.rollBack({ revision: 7, dry_run: false }, BOB)).rejects.toMatchObject({
    code: 'not_found',
  })
  expect(await store.revision(1)).toMatchObject({ origin: 'rest', author: 'ada' })
  expect(await store.users.audit({ limit: 9 })).toMatchObject([
    { user: 'ada', action: 'apply_config', target: 'set/default', revision: 1 },
  ])
})

test('applies and rolls back nothing for a session that has ended', async () => {
  const { remote, store } = await setUp()
  await remote.apply({ yaml: keys(2), base: 0, ...NOTHING_ALLOWED }, ADA)
  await remote.apply({ yaml: keys(3), base: 1, ...NOTHING_ALLOWED }, ADA)
  await store.users.endSessions('ada')
  const applied = remote.apply({ yaml: keys(4), base: 2, ...NOTHING_ALLOWED }, ADA)
  await expect(applied).rejects.toMatchObject({ code: 'not_logged_in' })
  await expect(remote.rollBack({ revision: 1, dry_run: false }, ADA)).rejects.toMatchObject({
    code: 'not_logged_in',
  })
  expect((await store.head()).revision).toBe(2)
})

test('lets others go on while it works on thousands of keys, and answers in order', async () => {
  const { remote, store } = await setUp()
  await remote.validate(keys(1)) // the thread has started
  let turns = 0
  const counting = setInterval(() => turns++, 1)
  onTestFinished(() => clearInterval(counting))
  const [many, few] = await Promise.all([
    remote.apply({ yaml: keys(2_000), base: 0, ...NOTHING_ALLOWED }, ADA),
    remote.validate(keys(2)),
  ])
  expect([many.plan.counts.create, few.resources, (await store.head()).revision]).toEqual([2_001, 3, 1])
  expect(turns).toBeGreaterThan(20)
})

test('tells what it cannot do without a store', async () => {
  const cwd = tempDir(onTestFinished).path
  const settings = { storeUrl: await storeOfFolder(cwd), cwd, environment: {} }
  const remote = new RemoteConfigurations(settings, systemClock, MODULES)
  onTestFinished(() => remote.end())
  await expect(remote.plan(keys(1))).rejects.toMatchObject({ code: 'unavailable' })
})
