import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { json } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { type Exchange, scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, chunk, EMBEDDINGS, loggedFor, post } from './calls.ts'
import { ask, JSON_HEAD, openaiError, PLAIN } from './streaming.ts'

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(afterAll, basicConfig(upstream.url), { secrets: BASIC_SECRETS })
beforeEach(() => upstream.forget())
const send = (path: string, body: string) => ask(onTestFinished, gateway, path, body)

describe('an answer in JSON that breaks', () => {
  const large = `{"model":"served-oai","data":"${'x'.repeat(600_000)}`

  it('is a 502 where nothing had gone out yet', async () => {
    upstream.answerNext(json('{"model":"served-oai","x":', { framing: 'chunked', ending: 'reset' }))
    const answer = await (await send(EMBEDDINGS, PLAIN)).answer()
    expect(answer.status).toBe(502)
    expect(answer.json()).toEqual(openaiError('upstream_error'))
    expect(await loggedFor(gateway, answer)).toMatchObject({ outcome: 'failed', status: 502 })
  })

  it.each<[string, (exchange: Exchange) => unknown]>([
    ['reset', exchange => exchange.reset()],
    ['cut', exchange => exchange.end()],
    ['ended in good order, half said', exchange => exchange.write('0\r\n\r\n')],
    ['a bad chunk', exchange => exchange.write('zz\r\n')],
  ])('is cut where a part had gone out: %s', async (_title, end) => {
    const door = gate()
    upstream.answerNext(async exchange => {
      await exchange.write(JSON_HEAD)
      await exchange.write(chunk(large))
      await door.opened
      await end(exchange)
    })
    const client = await send(EMBEDDINGS, PLAIN)
    await client.until(answer => answer.body.length > 100_000)
    door.open()
    const got = await client.answer()
    expect(got.status).toBe(200)
    expect(got.whole).toBe(false)
    expect(got.body.length).toBeGreaterThan(100_000)
    await client.closed
    expect(await loggedFor(gateway, got)).toMatchObject({ outcome: 'broken', error_code: 'upstream_error' })
  })
})

describe('a large answer', () => {
  it('of 5 MB passes in parts before it is whole, and arrives identical but for the name', async () => {
    const door = gate()
    const vector = Array.from(
      { length: 500 },
      (_, index) => `{"index":${index},"embedding":"${'QUJD'.repeat(2_500)}"}`,
    )
    const text = `{"object":"list","data":[${vector.join(',')}],"model":"served-oai","usage":{"prompt_tokens":7,"total_tokens":7}}`
    const cut = text.length - 60
    upstream.answerNext(async exchange => {
      await exchange.write(JSON_HEAD)
      for (let at = 0; at < cut; at += 100_000)
        await exchange.write(chunk(text.slice(at, Math.min(at + 100_000, cut))))
      await door.opened
      await exchange.write(chunk(text.slice(cut)))
      await exchange.write('0\r\n\r\n')
    })
    const client = await send(EMBEDDINGS, PLAIN)
    await client.until(answer => answer.body.length > 4_000_000)
    door.open()
    const answer = await client.answer()
    expect(answer.whole).toBe(true)
    expect(answer.text() === text.replace('"served-oai"', '"ext-both"')).toBe(true)
    expect(await loggedFor(gateway, answer)).toMatchObject({ input_tokens: 7 })
  })

  it('that is cut anywhere arrives identical but for the name', async () => {
    const text =
      '{"id":"é","model":"served-oai","choices":[{"message":{"content":"😀"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}'
    const whole = Buffer.from(text)
    for (let at = 1; at < whole.length; at++) {
      upstream.answerNext(async exchange => {
        await exchange.write(JSON_HEAD)
        await exchange.write(chunk(whole.subarray(0, at)))
        await new Promise(resolve => void setImmediate(resolve))
        await exchange.write(Buffer.concat([chunk(whole.subarray(at)), Buffer.from('0\r\n\r\n')]))
      })
      const answer = await post(gateway, CHAT, PLAIN)
      expect(await answer.text()).toBe(text.replace('served-oai', 'ext-both'))
    }
  })
})
