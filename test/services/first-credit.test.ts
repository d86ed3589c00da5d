import { expect, onTestFinished, test } from 'vitest'
import { bookWallet } from '../../src/services/wallet.ts'
import { json } from '../support/answers.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { tempDir } from '../support/temp-dir.ts'
import { wholeGateway } from '../support/whole-gateway.ts'

test('a prepaid tenant is served after apply, serve, keys issue, wallet credit and another apply, in this order', {
  timeout: 60_000,
}, async () => {
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(json({ model: 'served', usage: { prompt_tokens: 1, completion_tokens: 1 } }))
  const dir = tempDir(onTestFinished)
  const config = (currency: string) =>
    dir.write(
      'gw.yaml',
      `
version: 1
settings: { currency: ${currency} }
endpoints:
  main: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served, skip_probe: true }
publications:
  chat: { price: { input: 1, output: 1 }, bindings: [{ endpoint: main }] }
tenants:
  acme: { billing: prepaid }
keys:
  app: { kind: tenant, tenant: acme }
`,
    )
  const gateway = await wholeGateway(onTestFinished, config('USD'))
  const secret = await gateway.issue('app')
  const chat = async () => {
    const answer = await fetch(`${gateway.gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}` },
      body: JSON.stringify({ model: 'chat', messages: [] }),
    })
    return answer.status
  }
  expect(await chat()).toBe(402)
  const credit = { tenant: 'acme', amountNano: 10n ** 10n, reference: 'first' }
  await gateway.inStore(context => bookWallet(context, 'credit', credit))
  const served = gateway.reloaded()
  await gateway.apply(config('EUR'))
  await served
  await expect.poll(chat, { timeout: 8_000, interval: 200 }).toBe(200)
})
