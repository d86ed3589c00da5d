import { afterAll, describe, expect, it } from 'vitest'
import { splice } from '../../src/base/splice.ts'
import { askForUsage } from '../../src/gateway/rewrite.ts'
import { json, sse } from '../support/answers.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, post } from './calls.ts'

/** A body with `options` as its `stream_options`, after the edits. */
function asked(options: string | undefined, prefix = '{"a":1,"stream_options":'): string {
  if (options === undefined) return spliced('{"a":1}', askForUsage(undefined, 1))
  const body = `${prefix}${options},"z":2}`
  const start = prefix.length
  const end = start + options.length
  return spliced(body, askForUsage({ start, end, json: Buffer.from(options) }, 1)).slice(prefix.length, -7)
}

function spliced(body: string, edits: ReturnType<typeof askForUsage>): string {
  return Buffer.concat(splice([Buffer.from(body)], edits)).toString()
}

describe('the question for usage', () => {
  it.each([
    ['null', '{"include_usage":true}'],
    ['{}', '{"include_usage":true}'],
    ['{ }', '{"include_usage":true }'],
    ['{"x":[1]}', '{"include_usage":true,"x":[1]}'],
    ['{"include_usage":false}', '{"include_usage":true}'],
    ['{ "include_usage" : null , "x":1e400 }', '{ "include_usage" : true , "x":1e400 }'],
    ['{"include\\u005fusage":false}', '{"include\\u005fusage":true}'],
    ['{"include_usage":true,"include_usage":false}', '{"include_usage":true,"include_usage":true}'],
    ['{"x":{"include_usage":true}}', '{"include_usage":true,"x":{"include_usage":true}}'],
  ])('of %s makes %s', (options, expected) => {
    expect(asked(options)).toBe(expected)
  })

  it('is added in front of the other fields where there is none', () => {
    expect(asked(undefined)).toBe('{"stream_options":{"include_usage":true},"a":1}')
  })

  it.each(['{"include_usage":true}', '{"include_usage" : true,"x":1}'])('changes nothing in %s', options => {
    expect(asked(options)).toBe(options)
  })
})

describe('options that an upstream may read as no question for usage', async () => {
  const upstream = await scriptedUpstream(afterAll)
  const gateway = await testGateway(afterAll, basicConfig(upstream.url), { secrets: BASIC_SECRETS })
  const ask = async (options: string, stream = true) => {
    upstream.answerNext(stream ? sse('data: {"choices":[]}\n\ndata: [DONE]\n\n') : json({}))
    const body = `{"model":"ext/chat","stream":${stream},"stream_options":${options},"messages":[]}`
    const answer = await post(gateway, CHAT, body)
    return { status: answer.status, text: await answer.text() }
  }

  it.each([
    ['{"include_usage":0}', 'must be true, false or null'],
    ['{"include_usage":"false"}', 'must be true, false or null'],
    ['{"include_usage":{}}', 'must be true, false or null'],
    ['{"x":[{}],"include\\u005fusage":1}', 'must be true, false or null'],
    ['{"include_usage":true,"include_usage":0}', 'must be true, false or null'],
    ['{"Include_Usage":false}', 'must be written `include_usage`'],
    ['{"include_usage":true,"INCLUDE_USAGE":false}', 'must be written `include_usage`'],
    ['{"include_u\u017fage":false}', 'must be written `include_usage`'],
  ])('%s is rejected, and names the field', async (options, message) => {
    const { status, text } = await ask(options)
    expect([status, JSON.parse(text)]).toMatchObject([
      400,
      { error: { param: 'stream_options', message: expect.stringContaining(message) as unknown } },
    ])
    expect((await ask(options, false)).status).toBe(200)
  })

  it.each(['{"include_usage":false}', '{"x":{"Include_Usage":0}}', '{"include_usage_":0}'])(
    '%s is not one of them',
    async options => expect((await ask(options)).status).toBe(200),
  )
})
