import { once } from 'node:events'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { seeded } from '../support/seeded.ts'
import { call } from './clients.ts'
import { EVENTS, EXACT_NANO, gw, isComplete, PATH, SECRET, said, scene, USAGE } from './scene.ts'
import { INPUT_ESTIMATE, numberedBody, numberIn, readBooks } from './served.ts'

const ROUNDS = Number(process.env['GW_KILLS'] ?? 5)
const CLIENTS = 24
const SEED = Number(process.env['GW_SEED'] ?? Date.now() % 1_000_000)

test(
  `kill -9 under load, ${ROUNDS} times: no completed answer without its bill, none twice, a row for whatever the upstream saw`,
  async () => {
    const { dir, upstream, path, serve } = await scene()
    const random = seeded(SEED)
    const seenUpstream = new Set<number>()
    /** Burns down to the kill: in one round when a client has its whole answer, in the next when a request arrives. */
    let fuse = (_event: 'completed' | 'dispatched'): void => undefined
    upstream.answer(async exchange => {
      const body = exchange.request.json() as { max_tokens: number; stream: boolean }
      seenUpstream.add(numberIn(body))
      fuse('dispatched')
      await pause(random() * 8)
      const answer = body.stream ? sse([...EVENTS]) : json({ choices: [], usage: USAGE })
      await answer(exchange)
    })
    const completed: string[] = []
    let next = 0

    for (let round = 0; round < ROUNDS; round++) {
      const { child, url } = await serve()
      // What the process before has left is settled before this one listens.
      expect((await readBooks(path)).open, `seed ${SEED}`).toBe(0)

      const agent = new Agent({ keepAlive: true })
      let left = 20 + Math.floor(random() * 400)
      fuse = event => {
        if (event === (round % 2 === 0 ? 'completed' : 'dispatched') && --left === 0) child.kill('SIGKILL')
      }
      const client = async (): Promise<void> => {
        while (child.exitCode === null && child.signalCode === null) {
          const number = next++
          const stream = number % 3 !== 0
          const seen = await call(url, {
            agent,
            path: PATH,
            body: numberedBody(number, { path: PATH, model: 'm', stream }),
            secret: SECRET,
          })
          if (isComplete(seen, stream)) {
            completed.push(seen.requestId ?? '')
            fuse('completed')
          }
          if (seen.status === 0) return
        }
      }
      const clients = Array.from({ length: CLIENTS }, client)
      await once(child, 'exit')
      await Promise.all(clients)
      agent.destroy()
    }

    const last = await serve()
    last.child.kill('SIGTERM')
    await once(last.child, 'exit')
    expect(await gw(dir, ['ledger', 'verify'])).toEqual({
      exit: 0,
      stdout: expect.stringContaining('all sums match'),
    })

    const { booked, open } = await readBooks(path)
    expect(open).toBe(0)
    const lost = completed.filter(id => {
      const ends = booked.get(id)?.ends ?? []
      return !(
        ends.length === 1 &&
        ends[0]?.kind === 'settle' &&
        ends[0].amountNano === EXACT_NANO &&
        ends[0].flags === ''
      )
    })
    expect(lost, `seed ${SEED}: completed, but not billed once and exactly`).toEqual([])
    const wrong = [...booked].filter(([, { ends }]) => ends.length !== 1)
    expect(wrong, `seed ${SEED}: not ended once`).toEqual([])
    const rows = new Set([...booked.values()].map(({ number }) => number))
    expect(
      [...seenUpstream].filter(number => !rows.has(number)),
      `seed ${SEED}: dispatched without a row`,
    ).toEqual([])
    for (const { ends } of booked.values()) {
      const [end] = ends
      if (!end?.flags.includes('interrupted')) continue
      expect(end).toMatchObject({
        kind: 'settle',
        flags: 'interrupted,estimated',
        input: INPUT_ESTIMATE,
        output: 0,
        amountNano: BigInt(INPUT_ESTIMATE) * 1_000n,
      })
    }
    const interrupted = [...booked.values()].filter(({ ends }) =>
      ends[0]?.flags.includes('interrupted'),
    ).length
    // Something was at hand at each kill.
    expect(interrupted).toBeGreaterThanOrEqual(ROUNDS)
    expect(completed.length).toBeGreaterThan(ROUNDS)
    tell(
      `kills ${ROUNDS}, requests ${next}, completed ${completed.length}, interrupted ${interrupted}, seed ${SEED}`,
    )
  },
  60_000 + ROUNDS * 10_000,
)

test('SIGTERM with requests at hand: all of them finish and are billed', async () => {
  const { dir, upstream, path, serve } = await scene()
  const going = gate()
  upstream.answer(async exchange => {
    const { stream } = exchange.request.json() as { stream: boolean }
    await (stream ? sse([EVENTS[0], going, EVENTS[1], EVENTS[2]]) : json({ usage: USAGE }))(exchange)
  })
  const { child, url } = await serve()
  const agent = new Agent()
  const all = Array.from({ length: 30 }, (_, number) =>
    call(url, {
      agent,
      path: PATH,
      body: numberedBody(number, { path: PATH, model: 'm', stream: true }),
      secret: SECRET,
    }),
  )
  while (upstream.requests.length < 30) await upstream.nextRequest()
  const exited = once(child, 'exit')
  const stopping = said(child, 'Stopping')
  child.kill('SIGTERM')
  await stopping
  // No new call comes in.
  expect(await call(url, { agent, path: PATH, body: '{}', secret: SECRET })).toMatchObject({ status: 0 })
  going.open()
  for (const seen of await Promise.all(all)) expect(isComplete(seen, true)).toBe(true)
  expect(await exited).toEqual([0, null])
  const { booked, open } = await readBooks(path)
  expect(open).toBe(0)
  expect(booked.size).toBe(30)
  for (const { ends } of booked.values()) expect(ends).toMatchObject([{ amountNano: EXACT_NANO, flags: '' }])
  expect((await gw(dir, ['ledger', 'verify'])).exit).toBe(0)
})

test('SIGTERM when the time to drain is over: streams end with an error event, and are billed as far as they came, as interrupted', async () => {
  const { upstream, path, serve } = await scene()
  upstream.answer(sse([EVENTS[0]], { ending: 'hang' }))
  const { child, url } = await serve('--drain', '300ms')
  const agent = new Agent()
  /** Those whose client has the first bytes. */
  const begun = new Set<number>()
  const all = Array.from({ length: 10 }, (_, number) =>
    call(url, {
      agent,
      path: PATH,
      body: numberedBody(number, { path: PATH, model: 'm', stream: true }),
      secret: SECRET,
      leaves: bytes => {
        if (bytes > 0) begun.add(number)
        return false
      },
    }),
  )
  await expect.poll(() => begun.size, { interval: 5 }).toBe(10)
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  for (const seen of await Promise.all(all)) {
    expect(seen.whole).toBe(true)
    expect(seen.body).toContain('word ')
    expect(seen.body).toContain('"code":"unavailable"')
    expect(seen.body).not.toContain('[DONE]')
  }
  expect(await exited).toEqual([0, null])
  const { booked, open } = await readBooks(path)
  expect(open).toBe(0)
  const charged = [...booked.values()].flatMap(({ ends }) => ends)
  expect(charged).toHaveLength(10)
  for (const end of charged) {
    expect(end).toMatchObject({ kind: 'settle', flags: 'interrupted,estimated' })
    expect(end.output).toBeGreaterThan(0)
  }
})

/** Numbers for people, where a long run was asked for. */
function tell(line: string): void {
  if (process.env['GW_KILLS'] !== undefined) console.log(line)
}
