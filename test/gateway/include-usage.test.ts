import { describe, expect, it } from 'vitest'
import { splice } from '../../src/base/splice.ts'
import { askForUsage } from '../../src/gateway/rewrite.ts'

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

  it.each([
    '{"include_usage":true}',
    '{"include_usage" : true,"x":1}',
    '{"include_usage":"yes"}',
    '{"include_usage":1}',
  ])('changes nothing in %s: it was asked, or only the upstream can judge it', options => {
    expect(asked(options)).toBe(options)
  })
})
