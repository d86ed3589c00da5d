import process from 'node:process'
import { expect, it, onTestFinished } from 'vitest'
import { CHAT, post } from '../gateway/calls.ts'
import { bareUpstream } from '../support/bare-upstream.ts'
import { testGateway } from '../support/gateway.ts'
import { seeded } from '../support/seeded.ts'

const REQUESTS = Number(process.env['GW_STALE'] ?? 500)
const SEED = Number(process.env['GW_SEED'] ?? Date.now() % 1_000_000)
const CLIENTS = 32
const BODY = '{"model":"s"}'
const OK = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`

it(`${REQUESTS} requests over connections that die whenever they are idle: none fails (seed ${SEED})`, async () => {
  const random = seeded(SEED)
  let deaths = 0
  const upstream = await bareUpstream(onTestFinished, (socket, nth) => {
    const fate = random()
    if (nth > 1 && fate < 0.3) {
      // Under a request, as if it had crossed with it: not a byte of an answer.
      deaths++
      if (fate < 0.15) socket.end()
      else socket.resetAndDestroy()
      return
    }
    socket.write(OK)
    if (fate < 0.6) return
    // A moment after its answer, at the same time as the next request or before it.
    const timer = setTimeout(() => (fate < 0.8 ? socket.end() : socket.resetAndDestroy()), random() * 3)
    socket.once('close', () => clearTimeout(timer))
    deaths++
  })
  const gateway = await testGateway(
    onTestFinished,
    `
version: 1
endpoints: { oai: { protocol: openai, base_url: "${upstream.url}", served_model: s } }
publications: { m: { bindings: [{ endpoint: oai }] } }
keys: { admin: { kind: platform } }
`,
  )
  const statuses = new Map<number, number>()
  let left = REQUESTS
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (left-- > 0) {
        const answer = await post(gateway, CHAT, { model: 'm' })
        await answer.text()
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      }
    }),
  )
  expect(Object.fromEntries(statuses)).toEqual({ 200: REQUESTS })
  expect(deaths).toBeGreaterThan(REQUESTS / 10)
  expect(gateway.ledger.openHolds).toEqual([])
}, 1_800_000)
