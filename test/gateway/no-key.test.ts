import { afterAll, expect, it } from 'vitest'
import { testGateway } from '../support/gateway.ts'
import { CHAT, expectAnthropicError, expectOpenaiError, MESSAGES } from './calls.ts'

const gateway = await testGateway(afterAll, 'version: 1\nkeys: { admin: { kind: platform } }\n')
const bare = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(gateway.url + path, { method: 'POST', body: '{}', headers })
const NO_KEY = /^No API key: send `Authorization: Bearer`/

it.each<[string, Readonly<Record<string, string>>]>([
  ['no header', {}],
  ['an empty one', { authorization: 'Bearer ' }],
  ['another scheme', { authorization: 'Basic eDp5' }],
])(
  'a request without a key (%s) is asked for one, in the shape of either protocol',
  async (_title, headers) => {
    await expectOpenaiError(await bare(CHAT, headers), {
      status: 401,
      type: 'invalid_request_error',
      code: 'invalid_api_key',
      message: NO_KEY,
    })
    await expectAnthropicError(await bare(MESSAGES, headers), {
      status: 401,
      type: 'authentication_error',
      message: NO_KEY,
    })
  },
)

it('a request with a wrong key learns that it is wrong', async () => {
  const answer = await bare(CHAT, { authorization: 'Bearer gw_nope' })
  expect(await answer.json()).toMatchObject({ error: { message: 'Incorrect API key provided.' } })
})
