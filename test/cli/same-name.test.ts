import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'
import { billed, NOON_MS, write } from './traffic.ts'

const REST = `version: 1
endpoints:
  fast: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: fast-1, skip_probe: true }
publications:
  chat: { price: { input: 1 }, bindings: [{ endpoint: fast }] }
`
const WITH_TENANT = `${REST}tenants:
  blue: { billing: prepaid }
keys:
  app: { kind: tenant, tenant: blue, quota: 100000 }
`

let dir: TempDir
const run = (line: string) => gw(line.split(' '), { cwd: dir.path })
const json = async (line: string) => JSON.parse((await run(`${line} --format json`)).stdout)
const apply = async (yaml: string) => {
  dir.write('gw.yaml', yaml)
  const applied = await run('apply --yes --allow-deletes 9')
  expect(applied.exit, applied.stderr).toBe(0)
  return applied
}
const opened = async () => {
  const store = await openStore(await storeOfFolder(dir.path), { mode: 'write', clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

beforeEach(async () => {
  dir = tempDir(onTestFinished)
  await apply(WITH_TENANT)
  await run('wallet credit blue 10 --reference inv-1')
  await write(dir.at('data/gw.db'), billed({ id: 'r1', atMs: NOON_MS - 3_600_000 }))
  const { users } = await opened()
  await users.createUser({ name: 'tom', role: 'tenant', tenant: 'blue', passwordHash: 'h' })
  const session = { digest: 'a'.repeat(64), user: 'tom', passwordHash: 'h' } as const
  await users.openSession({ ...session, carrier: 'bearer', address: '::1' })
})

describe('a tenant that is deleted by its files', () => {
  it('takes its users along, and the plan names them', async () => {
    dir.write('gw.yaml', REST)
    const { stdout } = await run('diff')
    expect(stdout).toContain('its users are disabled and their sessions end: tom')
    await apply(REST)
    const { users } = await opened()
    expect(await users.user('tom')).toMatchObject({ enabled: false, sessions: 0 })
    expect(await run('users enable tom')).toMatchObject({
      exit: 4,
      stderr: expect.stringContaining('tenant blue'),
    })
  })

  it('leaves its balance behind, of which the plan warns; under a new name with previous_name it keeps it', async () => {
    const renamed = (name: string) => WITH_TENANT.replaceAll('blue', name)
    dir.write('gw.yaml', renamed('azure'))
    const balance = (await json('wallet show blue')).balance
    const { stdout } = await run('diff')
    expect(stdout).toContain(`its wallet keeps ${balance}`)
    expect(stdout).toContain('if this is a rename, add `previous_name: blue` to the new tenant')
    const diff = await json('diff')
    expect(diff.warnings).toContainEqual(
      expect.objectContaining({ code: 'wallet_left', kind: 'tenant', name: 'blue' }),
    )
    dir.write('gw.yaml', renamed('azure').replace('prepaid }', 'prepaid, previous_name: blue }'))
    expect((await run('diff')).stdout).not.toContain('its wallet keeps')
    expect((await run('apply --yes')).exit).toBe(0)
    expect((await json('wallet show azure')).balance).toBe(balance)
  })

  it('is another one than a later tenant of its name, which has nothing of it', async () => {
    await apply(REST)
    await apply(WITH_TENANT)
    const { users } = await opened()
    expect(await users.user('tom')).toMatchObject({ enabled: false, sessions: 0 })
    expect(await json('wallet show blue')).toMatchObject({ balance: '0' })
    expect((await json('wallet entries blue')).data).toEqual([])
    expect((await run('logs --key app --format json')).stdout).toBe('')
    const names = (await json('usage --by key --since 24h')).data.map(({ label }: { label: string }) => label)
    expect(names).toEqual(['app~until-r3'])
    expect((await run('ledger verify')).exit).toBe(0)
  })

  it('has users who stay disabled after a rollback, which names them and how to enable them', async () => {
    await apply(REST)
    const plan = await run('rollback 1 --dry-run')
    expect(plan.stdout).toContain(
      'tenant blue: its users stay disabled: tom; `gw users enable NAME` lets one log in again',
    )
    expect((await run('rollback 1 --yes')).exit).toBe(0)
    const enabled = await run('users enable tom')
    expect(enabled.exit, enabled.stderr).toBe(0)
  })

  it('has all that was its own again by a rollback', async () => {
    const before = await json('wallet show blue')
    await apply(REST)
    await apply(WITH_TENANT)
    expect((await run('rollback 1 --yes')).exit).toBe(0)
    expect(await json('wallet show blue')).toEqual(before)
    expect((await json('usage --by key --since 24h')).data).toMatchObject([{ label: 'app', requests: 1 }])
  })

  it('leaves nothing to a tenant that bears the name which it had got by a rename', async () => {
    await apply(
      WITH_TENANT.replace('blue: {', 'azure: { previous_name: blue,').replace(
        'tenant: blue',
        'tenant: azure',
      ),
    )
    await apply(REST)
    await apply(WITH_TENANT.replaceAll('blue', 'azure'))
    expect(await json('wallet show azure')).toMatchObject({ balance: '0' })
  })
})
