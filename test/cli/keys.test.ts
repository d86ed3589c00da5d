import { readdirSync, readFileSync, statSync } from 'node:fs'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { isMistyped } from '../../src/base/api-key.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'
import { gw } from './in-process.ts'
import { FIRST } from './sample-tree.ts'
import { billed, NOON_MS, write } from './traffic.ts'

const MINTED = /^gw_[0-9A-Za-z]{46}\n$/
const KEYS = `
  night-batch: { kind: platform, enabled: false }
  brought: { kind: platform, hash: "sha256:${'0'.repeat(64)}" }
  a-key-with-quite-a-long-name: { kind: platform, models: [a-model-with-a-long-name, another-model-with-a-long-name], limits: { rpm: 60, tpm: 100000, concurrency: 4 } }
`

let dir: TempDir
let clock: TestClock
const run = (line: string, world: Partial<Parameters<typeof gw>[1]> = {}) =>
  gw(line.split(' '), { cwd: dir.path, clock, ...world })
const json = async (line: string) => JSON.parse((await run(`${line} --format json`)).stdout)

beforeEach(async () => {
  dir = tempDir(onTestFinished)
  clock = testClock()
  dir.write('gw.yaml', FIRST.trimEnd() + KEYS)
  expect((await run('apply --yes --skip-probe')).exit).toBe(0)
})

describe('gw keys issue', () => {
  it('prints the secret alone on stdout, and what to know of it on stderr', async () => {
    const { exit, stdout, stderr } = await run('keys issue app')
    expect(exit).toBe(0)
    expect(stdout).toMatch(MINTED)
    expect(isMistyped(stdout.trim())).toBe(false)
    expect(stderr).toBe('The secret of app, shown only once: the store keeps its hash.\n')
  })

  it('prints {"key","secret"} as JSON', async () => {
    expect(await json('keys issue app')).toEqual({ key: 'app', secret: expect.stringMatching(/^gw_\w{46}$/) })
  })

  it('does not mint a second one, and says how to replace the first', async () => {
    await run('keys issue app')
    const { exit, stdout, stderr } = await run('keys issue app')
    expect({ exit, stdout }).toEqual({ exit: 4, stdout: '' })
    expect(stderr).toContain('gw keys rotate app')
  })

  it('names the key that was meant', async () => {
    const { exit, stderr } = await run('keys issue ap')
    expect(exit).toBe(4)
    expect(stderr).toMatch(/error GW4005: There is no key ap\.\n.*Did you mean app/)
  })

  it('wants a name', async () => {
    expect((await run('keys issue')).exit).toBe(64)
  })

  it('prints a line for each of several keys, its name and its secret', async () => {
    const { exit, stdout } = await run('keys issue app night-batch')
    expect(exit).toBe(0)
    expect(stdout).toMatch(/^app\tgw_\w{46}\nnight-batch\tgw_\w{46}\n$/)
  })

  it('mints none of several where one has a secret already', async () => {
    expect((await run('keys issue app brought')).exit).toBe(4)
    expect((await run('keys issue app')).exit).toBe(0)
    expect((await run('keys issue night-batch app')).stderr).toContain('gw keys rotate app')
    expect((await run('keys issue night-batch')).exit).toBe(0)
  })

  it('writes each to a file of its own with --to, which only its owner can read, and prints none', async () => {
    const { exit, stdout } = await run('keys issue app night-batch --to made/keys')
    expect(exit).toBe(0)
    expect(stdout).toBe(
      'The secret of app is in made/keys/app.key.\nThe secret of night-batch is in made/keys/night-batch.key.\n',
    )
    for (const name of ['app', 'night-batch']) {
      expect(readFileSync(dir.at(`made/keys/${name}.key`), 'utf8')).toMatch(MINTED)
      expect(statSync(dir.at(`made/keys/${name}.key`)).mode & 0o777).toBe(0o600)
    }
  })

  it('overwrites no file with --to, and mints nothing then', async () => {
    dir.write('made/night-batch.key', 'mine')
    const { exit, stderr } = await run('keys issue app night-batch --to made')
    expect(exit).toBe(4)
    expect(stderr).toContain('error GW4018: made/night-batch.key cannot be created: it already exists.')
    expect(readFileSync(dir.at('made/night-batch.key'), 'utf8')).toBe('mine')
    expect(readdirSync(dir.at('made'))).toEqual(['night-batch.key'])
    expect((await run('keys issue app')).exit).toBe(0)
  })
})

describe('gw keys rotate', () => {
  it('ends the old secret at once without --grace', async () => {
    const first = (await run('keys issue app')).stdout
    const { stdout } = await run('keys rotate app')
    expect(stdout).toMatch(MINTED)
    expect(stdout).not.toBe(first)
    expect(await json('keys show app')).toMatchObject({ state: 'active', secret: { active: 1 } })
  })

  it('lets old and new overlap for the grace, and says until when', async () => {
    await run('keys issue app')
    const { stderr } = await run('keys rotate app --grace 24h')
    expect(stderr).toContain('Older secrets work until 2026-01-16T12:00:00.000Z.')
    expect(await json('keys show app')).toMatchObject({ secret: { active: 2 } })
    clock.advance(24 * 3_600_000)
    expect(await json('keys show app')).toMatchObject({ secret: { active: 1 } })
  })

  it.each(['5x', '-1h', '1000d'])('takes %s for no grace', async grace => {
    await run('keys issue app')
    expect((await run(`keys rotate app --grace=${grace}`)).exit).toBe(64)
    expect(await json('keys show app')).toMatchObject({ secret: { active: 1 } })
  })
})

describe('gw keys list and show', () => {
  it('list all keys as a table', async () => {
    await run('keys issue app')
    await run('keys rotate app --grace 90m')
    clock.advance(3_600_000)
    await run('keys disable a-key-with-quite-a-long-name')
    const { exit, stdout, stderr } = await run('keys list')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    await expect(stdout).toMatchFileSnapshot('golden/keys-list.txt')
  })

  it('fit a narrow terminal', async () => {
    const { stdout } = await run('keys list --color never', { terminal: 90 })
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(90)
    await expect(stdout).toMatchFileSnapshot('golden/keys-list.narrow.txt')
  })

  it('give programs a page, and one object', async () => {
    await run('keys issue app')
    const { stdout } = await run('keys list --format json')
    await expect(stdout).toMatchFileSnapshot('golden/keys-list.json.txt')
    const [app] = JSON.parse(stdout).data.filter((key: { name: string }) => key.name === 'app')
    const { spend, ...shown } = await json('keys show app')
    expect(shown).toEqual(app)
    expect(spend).toEqual({ tokens: 0, amount: '0', currency: 'EUR' })
  })

  it('list budget, quota and expiry within 100 columns', async () => {
    await run('keys create trial --kind platform --quota 500000 --budget 50/month --expires 2030-01-31')
    const { stdout } = await run('keys list --color never', { terminal: 100 })
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
    expect(stdout).toMatch(/^NAME +STATE +TENANT +MODELS +QUOTA +BUDGET +EXPIRES/)
    expect(stdout).toMatch(/^trial .* 500000 +50\/month +2030-01-31/m)
  })

  it('show what a key has spent, for life and of its budget', async () => {
    await run('keys create trial --kind platform --budget 50/day')
    await write(dir.at('data/gw.db'), [
      ...billed({
        id: 'a',
        key: 'trial',
        tenant: null,
        atMs: NOON_MS - 86_400_000,
        amountNano: 2_000_000_000n,
      }),
      ...billed({ id: 'b', key: 'trial', tenant: null, atMs: NOON_MS, amountNano: 500_000_000n }),
    ])
    const { spend } = await json('keys show trial')
    expect(spend).toMatchObject({ amount: '2.5', in_budget: '0.5', currency: 'EUR' })
    expect(spend.tokens).toBeGreaterThan(0)
    expect((await run('keys show trial')).stdout).toMatch(
      /^spent +\d+ tokens, 2\.5 EUR; of the budget 0\.5 EUR$/m,
    )
  })

  it('show one key in full', async () => {
    await run('keys issue app')
    const { stdout } = await run('keys show app')
    await expect(stdout).toMatchFileSnapshot('golden/keys-show.txt')
  })

  it('never show a secret or its hash', async () => {
    const { stdout: secret } = await run('keys issue app')
    for (const line of [
      'keys list',
      'keys show app',
      'keys list --format json',
      'export',
      'diff --format json',
    ]) {
      const { stdout, stderr } = await run(line)
      expect(stdout + stderr).not.toContain(secret.trim())
      if (line.startsWith('keys')) expect(stdout).not.toMatch(/[0-9a-f]{64}/)
    }
  })

  it('say on stderr that there are none, so that a program reads nothing or an empty array', async () => {
    dir.write('gw.yaml', 'version: 1\nset: shop\n')
    await run('apply --yes --skip-probe --allow-deletes 10')
    const { exit, stdout, stderr } = await run('keys list')
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: '' })
    expect(stderr).toContain('No keys yet')
    expect((await json('keys list')).data).toEqual([])
  })
})

describe('a limit in shadow mode', () => {
  const SHADOW = `
  tried: { kind: platform, limits: { rpm: { limit: 60, burst: 6, mode: shadow }, concurrency: { limit: 4, mode: enforce } }, quota: { tokens: 1000, mode: shadow }, budget: { amount: "5", per: day, mode: shadow } }
`

  it('is shown as one, in text and in JSON', async () => {
    dir.write('gw.yaml', FIRST.trimEnd() + KEYS.trimEnd() + SHADOW)
    await run('apply --yes --skip-probe')
    const { stdout } = await run('keys show tried')
    expect(stdout).toMatch(/limits +60 \(burst 6\) rpm \(shadow\), 4 at a time\n/)
    expect(stdout).toMatch(/quota +1000 tokens \(shadow\)\nbudget +5 per day \(UTC\) \(shadow\)\n/)
    expect(await json('keys show tried')).toMatchObject({
      limits: { rpm: { limit: 60, burst: 6, mode: 'shadow' }, concurrency: { limit: 4 } },
      quota: { tokens: 1000, mode: 'shadow' },
      budget: { amount: '5', per: 'day', timezone: 'UTC', mode: 'shadow' },
    })
    dir.write(
      'gw.yaml',
      FIRST.trimEnd() + KEYS.trimEnd() + SHADOW.replaceAll('mode: shadow', 'mode: enforce'),
    )
    expect((await run('plan')).stdout).toContain('limits.rpm.mode')
  })
})

describe('gw keys disable and enable', () => {
  it('say of a key that lacks a secret still what it lacks', async () => {
    await run('keys disable app')
    const { stdout, stderr } = await run('keys enable app')
    expect(stdout).toBe('Key app is enabled.\n')
    expect(stderr).toBe('It has no secret yet: `gw keys issue app`.\n')
  })

  it('stop a key at once and let it go again', async () => {
    await run('keys issue app')
    expect((await run('keys disable app')).stdout).toBe('Key app is disabled.\n')
    expect(await json('keys show app')).toMatchObject({
      state: 'suspended',
      suspended_at: '2026-01-15T12:00:00.000Z',
    })
    expect(await json('keys disable app')).toEqual({ key: 'app', state: 'disabled', changed: false })
    expect(await json('keys enable app')).toEqual({ key: 'app', state: 'enabled', changed: true })
    expect(await json('keys show app')).toMatchObject({ state: 'active' })
  })

  it('do not enable what its configuration disables: they name the line to edit', async () => {
    const { exit, stderr } = await run('keys enable night-batch')
    expect(exit).toBe(4)
    expect(stderr).toMatch(/error GW4007.*gw\.yaml:15/)
  })
})

describe('a store that does not exist', () => {
  it.each(['issue app', 'rotate app', 'list', 'show app', 'disable app', 'enable app'])(
    'is not made by gw keys %s',
    async words => {
      const { exit, stderr } = await run(`keys ${words} --store sqlite:./typo.db`)
      expect(exit).toBe(4)
      expect(stderr).toContain('error GW2003')
    },
  )
})
