import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { json } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'

const USAGE = { usage: { prompt_tokens: 1_000_000, completion_tokens: 0 } }
const DECEMBER_MS = Date.UTC(2026, 11, 1)

/** Time goes on as it does, only from another moment. */
function clockFrom(startMs: number) {
  let shiftMs = startMs - Date.now()
  return {
    clock: { ...systemClock, nowMs: () => Date.now() + shiftMs },
    jump: (ms: number) => {
      shiftMs += ms
    },
  }
}

async function scene(startMs: number, price: string) {
  const upstream = await scriptedUpstream(onTestFinished)
  const { clock, jump } = clockFrom(startMs)
  const gateway = await testGateway(
    onTestFinished,
    `
version: 1
endpoints: { oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served } }
publications: { m: { price: ${price}, bindings: [{ endpoint: oai }] } }
keys: { app: { kind: platform } }
`,
    { clock },
  )
  const call = async () => {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secretOf('app')}` },
      body: JSON.stringify({ model: 'm', messages: [] }),
    })
    await answer.text()
  }
  return { upstream, gateway, call, jump }
}

const PRICES = '[{ input: "1" }, { from: 2026-12-01, input: "2" }]'

test('a price comes into force at its moment, without a reload', async () => {
  const { upstream, gateway, call, jump } = await scene(DECEMBER_MS - 60_000, PRICES)
  upstream.answer(json(USAGE))
  await call()
  jump(120_000)
  upstream.answer(json(USAGE))
  await call()
  expect(gateway.ledger.ends).toMatchObject([{ amountNano: 1_000_000_000n }, { amountNano: 2_000_000_000n }])
  expect(gateway.ledger.holds).toMatchObject([{ price: '{"input":"1"}' }, { price: '{"input":"2"}' }])
})

test('a request is billed by the price that it was held by, although another has come into force meanwhile', async () => {
  const { upstream, gateway, call, jump } = await scene(DECEMBER_MS - 60_000, PRICES)
  const later = gate()
  upstream.answer(async exchange => {
    await later.opened
    await json(USAGE)(exchange)
  })
  const called = call()
  await upstream.nextRequest()
  jump(120_000)
  later.open()
  await called
  expect(gateway.ledger.ends).toMatchObject([{ amountNano: 1_000_000_000n }])
})

test('before the first price has come calls are free, and marked as unpriced', async () => {
  const { upstream, gateway, call } = await scene(DECEMBER_MS - 60_000, '[{ from: 2026-12-01, input: "2" }]')
  upstream.answer(json(USAGE))
  await call()
  expect(gateway.ledger.ends).toMatchObject([{ amountNano: 0n, flags: ['unpriced'] }])
})
