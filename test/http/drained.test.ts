import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { drained } from '../../src/http/drained.ts'

test('a stream that drains, or is closed, has no listener left', async () => {
  const stream = new PassThrough({ highWaterMark: 1 })
  stream.resume()
  for (let part = 0; part < 20; part++) {
    expect(stream.write('more than fits')).toBe(false)
    await drained(stream)
  }
  const listeners = () => [stream.listenerCount('drain'), stream.listenerCount('close')]
  expect(listeners()).toEqual([0, 0])
  const closed = drained(stream)
  stream.destroy()
  await closed
  expect(listeners()).toEqual([0, 0])
})
