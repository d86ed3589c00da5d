import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { formatNano } from '../../src/base/decimal.ts'
import { createLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { serve } from '../../src/server/serve.ts'
import { bookWallet } from '../../src/services/wallet.ts'
import { openStore } from '../../src/store/open.ts'
import { json, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { makeReadOnly, READ_ONLY_WORKER } from '../support/read-only-ledger.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { fillUp, smallDisk } from '../support/small-disk.ts'
import { tempDir } from '../support/temp-dir.ts'
import { whenFolded } from '../support/when-folded.ts'
import { type WholeGateway, wholeGateway } from '../support/whole-gateway.ts'
import { readBooks } from './served.ts'

const GW = fileURLToPath(new URL('../../bin/gw.js', import.meta.url))
const SECRET = 'sk-a-secret-of-their-own-0123456789'
const PREPAID_SECRET = 'sk-another-secret-of-theirs-0123456789'
const CHAT = '/v1/chat/completions'
const MESSAGES = '/v1/messages'
const USAGE = { prompt_tokens: 100, completion_tokens: 20 }
const EXACT_NANO = 300_000n
const EVENT = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'word' } }] })}\n\n`
const REST = `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`

interface Problem {
  begin(): unknown
  end(): unknown
}

/** A database that cannot be written for a while: how, and the code by which the log tells. */
const PROBLEMS: readonly [title: string, code: string, (folder: string) => Problem][] = [
  [
    'its disk is full',
    'SQLITE_FULL',
    folder => ({
      begin: () => fillUp(`${folder}/ballast`),
      end: () => rmSync(`${folder}/ballast`),
    }),
  ],
  [
    'it has become read-only',
    'SQLITE_READONLY',
    folder => ({
      begin: () => makeReadOnly(`${folder}/gw.db`, true),
      end: () => makeReadOnly(`${folder}/gw.db`, false),
    }),
  ],
  [
    'another process keeps it locked',
    'SQLITE_BUSY',
    folder => {
      const other = new Database(`${folder}/gw.db`)
      onTestFinished(() => void other.close())
      return { begin: () => void other.exec('begin immediate'), end: () => void other.exec('rollback') }
    },
  ],
]

test.for(PROBLEMS)(
  'where the database cannot be written because %s, calls go on, prepaid ones answer 503, all say so, nothing is lost, and it heals by itself',
  async ([, code, problemFor], ctx) => {
    const folder = smallDisk(onTestFinished)
    if (folder instanceof Error) return ctx.skip(`no tmpfs can be mounted here: ${folder.message}`)
    const { gateway, upstream, call } = await scene(folder, '', 'billing: prepaid')
    const credit = { tenant: 'paying', amountNano: 1_000_000_000n, reference: 'invoice-1' }
    await gateway.inStore(context => bookWallet(context, 'credit', credit))
    upstream.answer(json({ usage: USAGE }))
    // A gateway looks for credits once a second.
    const paid = async () => (await call(CHAT, {}, PREPAID_SECRET)).status
    await expect.poll(paid).toBe(200)
    const problem = problemFor(folder)
    const going = gate()
    upstream.answer(sse([EVENT, going, REST]))
    const streams = await Promise.all(Array.from({ length: 40 }, () => call(CHAT, { stream: true })))
    expect(streams.map(({ status }) => status)).toEqual(Array.from({ length: 40 }, () => 200))
    await whenFolded(`${folder}/gw.db`)

    const said = gateway.logged('the ledger cannot be written')
    await problem.begin()
    upstream.answer(json({ usage: USAGE }))
    // Enough of them that a full disk has no page with room.
    const during = await Promise.all(Array.from({ length: 400 }, () => call(CHAT, {})))
    expect(await said).toContain(code)
    expect(new Set(during.map(({ status }) => status))).toEqual(new Set([200]))
    const asked = performance.now()
    for (const [path, type] of [
      [CHAT, 'server_error'],
      [MESSAGES, 'overloaded_error'],
      ['/v1/embeddings', 'server_error'],
      ['/v1/rerank', 'server_error'],
    ] as const) {
      const answer = await call(path, {}, PREPAID_SECRET)
      expect(answer.status).toBe(503)
      expect(await answer.json()).toMatchObject({ error: { type } })
    }
    // No call waits to be rejected.
    expect(performance.now() - asked).toBeLessThan(1_000)
    const health = await fetch(`${gateway.gatewayUrl}/health`)
    expect(health.status).toBe(200)
    expect(await health.json()).toMatchObject({
      status: 'degraded',
      ledger: { ok: true },
      reasons: [expect.stringMatching(/^ledger_behind: /)],
    })

    // Charges that fall due now are durable in the journal: the last bytes do not wait for the store.
    going.open()
    for (const stream of streams) expect(await stream.text()).toBe(`${EVENT}data: [DONE]\n\n`)

    const healed = gateway.logged('the ledger can be written again')
    await problem.end()
    await healed
    await whenFolded(`${folder}/gw.db`)
    const better = await fetch(`${gateway.gatewayUrl}/health`)
    expect([better.status, await better.json()]).toMatchObject([200, { status: 'ok', ledger: { ok: true } }])

    const { booked, open } = await readBooks(`${folder}/gw.db`)
    expect(open).toBe(0)
    const ends = [...booked.values()].flatMap(request => request.ends)
    expect(ends.filter(({ kind }) => kind === 'settle')).toHaveLength(441)
    for (const { ends: own } of booked.values()) expect(own).toHaveLength(1)
    for (const end of ends.filter(({ kind }) => kind === 'settle'))
      expect(end).toMatchObject({ amountNano: EXACT_NANO, flags: '' })
    const store = await openStore(gateway.store, { mode: 'read', clock: systemClock })
    onTestFinished(() => store.close())
    expect(await store.accounting.verify()).toMatchObject({ openHolds: 0, findings: [] })
  },
)

test('a gateway does not start on a database that is read-only, and says so', async ctx => {
  const folder = smallDisk(onTestFinished)
  if (folder instanceof Error) return ctx.skip(`no tmpfs can be mounted here: ${folder.message}`)
  const { gateway, ports } = await scene(folder)
  await gateway.serving.close(0)
  execFileSync('mount', ['-o', 'remount,ro', folder])
  const options = { store: gateway.store, gateway: { host: '127.0.0.1', port: 0 } }
  const log = createLog({ write: () => undefined }, { level: 'silent', pretty: false, colour: false })
  await expect(serve(options, { ...ports, random: systemRandom, log })).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringContaining('gw.db'),
  })
})

test('a credit that another process books reaches a prepaid tenant of a running gateway: 402 before, 200 soon after', async () => {
  const folder = tempDir(onTestFinished).path
  const { upstream, call, gateway } = await scene(folder, 'billing: prepaid')
  upstream.answer(json({ usage: USAGE }))
  const rejected = await call(CHAT, {})
  expect(rejected.status).toBe(402)
  expect(await rejected.text()).toContain('balance 0, held 0, needed 0.0')
  expect(upstream.requests).toEqual([])
  const adjustment = { tenant: 'acme', amountNano: 1_000_000_000n, reference: 'invoice-1' }
  await gateway.inStore(context => bookWallet(context, 'credit', adjustment))
  const booked = performance.now()
  let status = 402
  while (status === 402 && performance.now() - booked < 5_000) status = (await call(CHAT, {})).status
  expect(status).toBe(200)
  expect(performance.now() - booked).toBeLessThan(2_500)
  expect(upstream.requests).toHaveLength(1)
})

test('a debit of another process is off the balance at once: what it took is neither held nor dispatched for again', async () => {
  const folder = tempDir(onTestFinished).path
  const store = await openStore(`sqlite:${folder}/gw.db`, { mode: 'create', clock: systemClock })
  onTestFinished(() => store.close())
  const { upstream, call, gateway } = await scene(folder, 'billing: prepaid, limits: { rpm: 10 }')
  upstream.answer(json({ usage: USAGE }))
  const credit = { tenant: 'acme', amountNano: 1_000_000_000n, reference: 'invoice-1' }
  await gateway.inStore(context => bookWallet(context, 'credit', credit))
  let status = 402
  while (status === 402) status = (await call(CHAT, {})).status
  expect(status).toBe(200)
  await whenFolded(`${folder}/gw.db`)
  const before = await store.accounting.wallet('acme')

  const debit = ['wallet', 'debit', 'acme', '0.9997', '--reference', 'refund-1', '--store', gateway.store]
  execFileSync(process.execPath, [GW, ...debit])
  // Well before the gateway looks for debits by itself, which it does once a second.
  const answers = await Promise.all(Array.from({ length: 5 }, () => call(CHAT, {})))
  expect(answers.map(answer => answer.status)).toEqual([402, 402, 402, 402, 402])
  const left = formatNano(before.balanceNano - 999_700_000n)
  expect(await answers[0]?.json()).toMatchObject({
    error: {
      code: 'insufficient_balance',
      message: expect.stringContaining(`balance ${left}, held 0, needed 0.0`),
    },
  })
  expect(upstream.requests).toHaveLength(1)
  // A rejection consumes nothing, not even a request per minute. Those at once saw each other until they were rejected.
  const after = await call(CHAT, {})
  expect([after.status, after.headers.get('x-ratelimit-remaining-requests')]).toEqual([402, '9'])
  const { booked, open } = await readBooks(`${folder}/gw.db`)
  expect([booked.size, open]).toEqual([1, 0])
  expect(await store.accounting.wallet('acme')).toMatchObject({ heldNano: 0n })
  expect(await store.accounting.verify()).toMatchObject({ findings: [] })
})

async function scene(folder: string, tenant = '', paying = '') {
  const upstream = await scriptedUpstream(onTestFinished)
  const config = tempDir(onTestFinished).write(
    'gw.yaml',
    `
version: 1
endpoints:
  oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served }
  ant: { protocol: anthropic, base_url: "${upstream.url}/v1", served_model: served }
publications:
  m: { price: { input: "1", output: "10" }, bindings: [{ endpoint: oai }, { endpoint: ant }] }
tenants: { acme: { ${tenant} }, paying: { ${paying} } }
keys:
  app: { kind: tenant, tenant: acme, secret: { env: APP_KEY }, limits: { concurrency: 500 } }
  prepaid: { kind: tenant, tenant: paying, secret: { env: PREPAID_KEY } }
`,
  )
  const environment = { APP_KEY: SECRET, PREPAID_KEY: PREPAID_SECRET }
  const gateway: WholeGateway = await wholeGateway(
    onTestFinished,
    config,
    environment,
    folder,
    READ_ONLY_WORKER,
  )
  const secretOf = { authorization: `Bearer ${SECRET}` }
  return {
    upstream,
    gateway,
    secretOf,
    ports: {
      environment,
      cwd: folder,
      clock: systemClock,
      signal: new AbortController().signal,
    },
    call: (path: string, body: object, secret = SECRET) =>
      fetch(gateway.gatewayUrl + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}` },
        body: JSON.stringify({ model: 'm', max_tokens: 10, ...body }),
      }),
  }
}
