import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'
import { gw } from './in-process.ts'
import { FIRST } from './sample-tree.ts'
import { billed, held, write } from './traffic.ts'

let dir: TempDir
let clock: TestClock
const run = (line: string, world: Partial<Parameters<typeof gw>[1]> = {}) =>
  gw(line.split(' '), { cwd: dir.path, clock, environment: { USER: 'ann' }, ...world })
const json = async (line: string) => JSON.parse((await run(`${line} --format json`)).stdout)
const traffic = (...rows: Parameters<typeof write>[1]) => write(dir.at('data/gw.db'), rows)

beforeEach(async () => {
  dir = tempDir(onTestFinished)
  clock = testClock()
  dir.write('gw.yaml', FIRST.replace('keys:', '  paid: { billing: prepaid }\nkeys:'))
  expect((await run('apply --yes --skip-probe')).exit).toBe(0)
})

describe('gw wallet credit', () => {
  it('adds exactly what was written, and says what the balance is', async () => {
    const { exit, stdout, stderr } = await run('wallet credit paid 0.123456789 --reference inv-1')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(stdout).toBe('Booked +0.123456789 EUR for inv-1. The balance of paid is 0.123456789 EUR.\n')
    await run('wallet credit paid 9007199254.000000001 --reference inv-2')
    expect(await json('wallet show paid')).toMatchObject({ balance: '9007199254.12345679' })
  })

  it('happens once: the second time it tells of the first, and ends with 0', async () => {
    await run('wallet credit paid 50 --reference inv-1')
    clock.advance(60_000)
    const { exit, stdout } = await run('wallet credit paid 50.0 --reference inv-1', {
      environment: { USER: 'bob' },
    })
    expect(exit).toBe(0)
    expect(stdout).toBe(
      'Nothing booked: inv-1 is already booked: +50 EUR at 2026-01-15T12:00:00.000Z by ann. ' +
        'The balance of paid is 50 EUR.\n',
    )
    expect(await json('wallet credit paid 50 --reference inv-1')).toMatchObject({
      booked: false,
      balance: '50',
      entry: { id: 1, author: 'ann' },
    })
    expect((await json('wallet entries paid')).data).toHaveLength(1)
  })

  it('of another amount under the same reference is rejected', async () => {
    await run('wallet credit paid 50 --reference inv-1')
    for (const line of ['credit paid 51', 'debit paid 50']) {
      const { exit, stdout, stderr } = await run(`wallet ${line} --reference inv-1`)
      expect({ exit, stdout }).toEqual({ exit: 4, stdout: '' })
      expect(stderr).toContain('error GW4011: inv-1 is a credit of 50 already')
    }
    expect(await json('wallet show paid')).toMatchObject({ balance: '50' })
  })

  it('gives programs the entry and the balance', async () => {
    const { stdout } = await gw(
      ['wallet', 'credit', 'paid', '12.50', '--reference', 'inv-1', '--note', 'by bank', '--format', 'json'],
      { cwd: dir.path, clock, environment: { USER: 'ann' } },
    )
    await expect(stdout).toMatchFileSnapshot('golden/wallet-credit.json.txt')
  })

  it.each<[string, string, number, RegExp]>([
    ['nothing', 'paid 0 --reference a', 64, /`0` is not an amount/],
    ['less than nothing', 'paid -5 --reference a', 64, /`-5` is not an amount/],
    ['ten digits after the point', 'paid 0.0000000001 --reference a', 64, /at most nine digits/],
    [
      'more than an entry can hold',
      'paid 9223372036.854775808 --reference a',
      64,
      /at most 9223372036\.854775807/,
    ],
    ['a comma', 'paid 1,5 --reference a', 64, /12\.50/],
    ['no reference', 'paid 5', 64, /--reference/],
    ['an empty reference', 'paid 5 --reference=', 64, /`--reference` is empty/],
    [
      'an unknown tenant',
      'pai 5 --reference a',
      4,
      /GW4005: There is no tenant pai\.\n.*Did you mean paid\?/,
    ],
  ])('rejects %s', async (_what, words, exit, message) => {
    const ended = await run(`wallet credit ${words}`)
    expect({ exit: ended.exit, stdout: ended.stdout }).toEqual({ exit, stdout: '' })
    expect(ended.stderr).toMatch(message)
  })
})

describe('gw wallet debit', () => {
  it('takes from the balance', async () => {
    await run('wallet credit paid 50 --reference inv-1')
    const { stdout } = await run('wallet debit paid 20.5 --reference refund-1')
    expect(stdout).toBe('Booked -20.5 EUR for refund-1. The balance of paid is 29.5 EUR.\n')
  })

  it('of a prepaid tenant never takes what open calls hold', async () => {
    await run('wallet credit paid 50 --reference inv-1')
    await traffic(held({ id: 'r1', tenant: 'paid', amountNano: 20_000_000_000n }))
    const { exit, stdout, stderr } = await run('wallet debit paid 30.000000001 --reference refund-1')
    expect({ exit, stdout }).toEqual({ exit: 4, stdout: '' })
    await expect(stderr).toMatchFileSnapshot('golden/wallet-debit.stderr.txt')
    expect((await run('wallet debit paid 30 --reference refund-1')).exit).toBe(0)
  })

  it('of a postpaid tenant may leave a debt', async () => {
    const { exit, stdout } = await run('wallet debit blue 5 --reference fee-1')
    expect(exit).toBe(0)
    expect(stdout).toContain('The balance of blue is -5 EUR.')
  })
})

describe('gw wallet adjust', () => {
  it('puts right what a bill has charged, either way and once', async () => {
    await run('wallet credit paid 50 --reference inv-1')
    const back = await run('wallet adjust paid 0.25 --reference req_1')
    expect(back.stdout).toBe('Booked +0.25 EUR for req_1. The balance of paid is 50.25 EUR.\n')
    const taken = await run('wallet adjust paid -1.5 --reference req_2')
    expect(taken.stdout).toBe('Booked -1.5 EUR for req_2. The balance of paid is 48.75 EUR.\n')
    expect((await run('wallet adjust paid -1.5 --reference req_2')).stdout).toContain('Nothing booked')
    expect((await run('wallet adjust paid 1.5 --reference req_2')).stderr).toContain(
      'req_2 is an adjustment of -1.5',
    )
    expect((await json('wallet entries paid')).data).toMatchObject([
      { kind: 'adjust', amount: '-1.5', reference: 'req_2' },
      { kind: 'adjust', amount: '0.25' },
      { kind: 'credit' },
    ])
    expect((await run('ledger verify')).exit).toBe(0)
  })

  it('never takes what open calls of a prepaid tenant hold, and never nothing', async () => {
    await run('wallet credit paid 50 --reference inv-1')
    await traffic(held({ id: 'r1', tenant: 'paid', amountNano: 20_000_000_000n }))
    const { exit, stderr } = await run('wallet adjust paid -30.5 --reference req_1')
    expect(exit).toBe(4)
    expect(stderr).toContain('GW4012: An adjustment of -30.5 would leave -0.5: balance 50, held 20.')
    expect((await run('wallet adjust paid -0 --reference req_1')).exit).toBe(64)
    expect((await run('wallet adjust paid --5 --reference req_1')).exit).toBe(64)
  })
})

describe('gw wallet show', () => {
  it('shows balance, held and what is left', async () => {
    await run('wallet credit paid 50 --reference inv-1')
    await traffic(
      ...billed({ id: 'r1', tenant: 'paid', amountNano: 1_250_000_000n }),
      held({ id: 'r2', tenant: 'paid', amountNano: 2_000_000_000n }),
    )
    const { exit, stdout, stderr } = await run('wallet show paid')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    await expect(stdout).toMatchFileSnapshot('golden/wallet-show.txt')
    expect(await json('wallet show paid')).toEqual({
      tenant: 'paid',
      billing: 'prepaid',
      currency: 'EUR',
      balance: '48.75',
      held: '2',
      available: '46.75',
    })
  })

  it('of a postpaid tenant names no bound that is none', async () => {
    expect(await json('wallet show blue')).toEqual({
      tenant: 'blue',
      billing: 'postpaid',
      currency: 'EUR',
      balance: '0',
      held: '0',
    })
  })

  it('still shows what a tenant left that is gone, and only then', async () => {
    await run('wallet debit blue 5 --reference fee-1')
    dir.write('gw.yaml', 'version: 1\nset: shop\n')
    expect((await run('apply --yes --skip-probe --allow-deletes 10')).exit).toBe(0)
    expect((await run('wallet show blue')).stdout).toContain('the tenant is deleted')
    expect((await json('wallet entries blue')).data).toHaveLength(1)
    for (const words of ['show paid', 'entries paid']) {
      const { exit, stderr } = await run(`wallet ${words}`)
      expect(exit).toBe(4)
      expect(stderr).toContain('error GW4005: There is no tenant paid.')
    }
  })
})

describe('gw wallet entries', () => {
  beforeEach(async () => {
    await run('wallet credit paid 50 --reference inv-1')
    await traffic(
      ...billed({ id: 'req-1', tenant: 'paid', amountNano: 1_250_000_000n, flags: ['estimated'] }),
    )
    clock.advance(3_600_000)
    await gw(['wallet', 'debit', 'paid', '3', '--reference', 'fee-1', '--note', 'paper bill'], {
      cwd: dir.path,
      clock,
    })
  })

  it('list what moved the balance, newest first, and by whom', async () => {
    const { exit, stdout, stderr } = await run('wallet entries paid')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    await expect(stdout).toMatchFileSnapshot('golden/wallet-entries.txt')
  })

  it('fit a narrow terminal', async () => {
    const { stdout } = await run('wallet entries paid --color never', { terminal: 80 })
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  })

  it('give programs a page', async () => {
    const { stdout } = await run('wallet entries paid --format json')
    await expect(stdout).toMatchFileSnapshot('golden/wallet-entries.json.txt')
  })

  it('say on stderr that there may be more', async () => {
    const { stdout, stderr } = await run('wallet entries paid --limit 2')
    expect(stdout.split('\n')).toHaveLength(4)
    expect(stderr).toBe('Shows the newest 2; for more: --limit N.\n')
  })

  it('say on stderr that there are none', async () => {
    const { exit, stdout, stderr } = await run('wallet entries blue')
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: '' })
    expect(stderr).toBe('The wallet of blue has no entries yet.\n')
    expect(await json('wallet entries blue')).toEqual({ data: [], next_cursor: null })
  })
})
