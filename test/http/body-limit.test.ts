import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { CHAT, chunk, rawHead, rawPost } from '../gateway/calls.ts'
import { rawClient } from '../gateway/raw-client.ts'
import { json } from '../support/answers.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'

const upstream = await scriptedUpstream(afterAll)
beforeEach(() => {
  upstream.forget()
  upstream.answer(json('{"model":"x"}'))
})

const body = '{"model":"ext-both"}'

describe('a body over the limit', () => {
  const small = testGateway(afterAll, basicConfig(upstream.url, 'limits: { body: 1MiB }'), {
    secrets: BASIC_SECRETS,
  })

  it('that says its length is rejected at once; a client that still sends 30 MB can read why', async () => {
    const limited = await small
    const client = await rawClient(onTestFinished, limited.url)
    await client.write(rawHead(limited, CHAT, ['content-length: 30000000']))
    const answer = await client.answer()
    expect(answer.status).toBe(413)
    expect(answer.json()).toMatchObject({ error: { code: 'request_too_large' } })
    for (let sent = 0; sent < 30_000_000; sent += 1_000_000) await client.write(Buffer.alloc(1_000_000, 0x20))
    // The connection has survived: the next request on it is served.
    await client.write(rawPost(limited, CHAT, body))
    expect((await client.answer()).status).toBe(200)
    expect(upstream.requests).toHaveLength(1)
  })

  it('that is chunked is rejected as soon as it is over, and can be sent to its end', async () => {
    const limited = await small
    const client = await rawClient(onTestFinished, limited.url)
    await client.write(rawHead(limited, CHAT, ['transfer-encoding: chunked']))
    const piece = chunk(`"${'x'.repeat(100_000)}",`)
    await client.write(chunk('{"model":"ext-both","x":['))
    for (let count = 0; count < 12; count++) await client.write(piece)
    expect((await client.answer()).status).toBe(413)
    for (let count = 0; count < 200; count++) await client.write(piece)
    await client.write(chunk('1]}'))
    await client.write('0\r\n\r\n')
    await client.write(rawPost(limited, CHAT, body))
    expect((await client.answer()).status).toBe(200)
    expect(upstream.requests).toHaveLength(1)
  })

  it('is over by one byte, and not by none', async () => {
    const limited = await small
    const of = (length: number) => {
      const text = `{"model":"ext-both","x":"`
      return `${text}${'x'.repeat(length - text.length - 2)}"}`
    }
    for (const framed of [
      (text: string) => rawPost(limited, CHAT, text),
      (text: string) =>
        Buffer.concat([
          Buffer.from(rawHead(limited, CHAT, ['transfer-encoding: chunked'])),
          chunk(text),
          Buffer.from('0\r\n\r\n'),
        ]),
    ]) {
      for (const [length, status] of [
        [1_048_576, 200],
        [1_048_577, 413],
      ] as const) {
        const client = await rawClient(onTestFinished, limited.url)
        await client.write(framed(of(length)))
        expect((await client.answer()).status).toBe(status)
      }
    }
  })
})
