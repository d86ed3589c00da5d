import { afterAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { json, reset } from '../support/answers.ts'
import { freePort } from '../support/free-port.ts'
import { testGateway } from '../support/gateway.ts'
import { type Answer, scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, COUNT_TOKENS, loggedFor, post } from './calls.ts'

const upstream = await scriptedUpstream(afterAll)
beforeEach(() => upstream.forget())

const config = (settings: string, url = upstream.url) => `
version: 1
settings: { health: { unhealthy_after: 1000 }${settings} }
endpoints: { secret-vendor: { protocol: openai, base_url: "${url}", served_model: s } }
publications: { m: { bindings: [{ endpoint: secret-vendor }] } }
keys: { admin: { kind: platform } }
`
const OUTCOMES: readonly (readonly [title: string, answer: Answer])[] = [
  ['a success', json({ model: 's' })],
  ['401', json({}, { status: 401 })],
  ['404', json({}, { status: 404 })],
  ['402', json({}, { status: 402 })],
  ['500', json({}, { status: 500 })],
  ['a reset', reset],
]

it.each(OUTCOMES)(
  'with show_endpoints: false %s tells no name of an endpoint; the log does',
  async (_title, answer) => {
    const gateway = await testGateway(onTestFinished, config(', show_endpoints: false'))
    upstream.answerNext(answer)
    const answered = await post(gateway, CHAT, { model: 'm' })
    const text = JSON.stringify([...answered.headers]) + (await answered.clone().text())
    expect(text).not.toContain('secret-vendor')
    expect(await loggedFor(gateway, answered)).toMatchObject({ endpoint: 'secret-vendor' })
  },
)

it('with show_endpoints: false the log of rejected calls has the message that the client got', async () => {
  const gateway = await testGateway(
    onTestFinished,
    config(', show_endpoints: false').replace('protocol: openai', 'protocol: anthropic'),
  )
  upstream.answerNext(json({}, { status: 401 }))
  const answered = await post(gateway, COUNT_TOKENS, { model: 'm', messages: [] })
  const { error } = (await answered.json()) as { error: { message: string } }
  await gateway.nextLogged()
  expect(gateway.ledger.rejected).toMatchObject([{ message: error.message }])
  expect(error.message).not.toContain('secret-vendor')
})

it('without the setting names are shown', async () => {
  const gateway = await testGateway(onTestFinished, config(''))
  upstream.answerNext(json({ model: 's' }), json({}, { status: 401 }))
  expect((await post(gateway, CHAT, { model: 'm' })).headers.get('x-gw-endpoint')).toBe('secret-vendor')
  expect(await (await post(gateway, CHAT, { model: 'm' })).text()).toContain('secret-vendor')
})

it('a 502 says one cause', async () => {
  const shown = async (url: string, answer?: Answer) => {
    const gateway = await testGateway(onTestFinished, config('', url))
    if (answer) upstream.answerNext(answer)
    const body = (await (await post(gateway, CHAT, { model: 'm' })).json()) as { error: { message: string } }
    return body.error.message
  }
  const rejecting = `http://127.0.0.1:${await freePort()}`
  expect(await shown(rejecting)).toBe('The model server could not be reached.')
  expect(await shown(upstream.url, reset)).toBe('The connection to the model server broke off.')
  expect(await shown(upstream.url, json({}, { status: 500 }))).toBe('The model server answered 500.')
  expect(await shown(upstream.url, async exchange => void (await exchange.write('nonsense\r\n\r\n')))).toBe(
    'The answer of the model server is not valid HTTP.',
  )
  expect(await shown(upstream.url, json('{"model":'))).toBe(
    'The answer of the model server ended before it was complete.',
  )
})
