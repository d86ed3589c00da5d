import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readBody } from '../../src/http/body.ts'

async function read(pieces: readonly Buffer[]): Promise<readonly Buffer[]> {
  const req = new IncomingMessage(new Socket())
  const body = readBody(req, 10_000_000, () => true)
  for (const piece of pieces) req.push(piece)
  req.push(null)
  const result = await body
  if (!result.ok) throw new Error('it was not read', { cause: result.fault })
  expect(result.lengthBytes).toBe(Buffer.concat(pieces).length)
  return result.pieces
}

it('keeps every byte in its place, whatever the sizes of the pieces', async () => {
  const size = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constantFrom(511, 512, 513, 70_000, 200_000))
  const run = fc.record({
    size,
    count: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constantFrom(255, 256, 257)),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(run, { maxLength: 4 }), async runs => {
      let value = 0
      const pieces = runs.flatMap(({ size, count }) =>
        Array.from({ length: size > 1_000 ? 1 : count }, () => Buffer.alloc(size, (value += 7) % 251)),
      )
      expect(Buffer.concat(await read(pieces)).equals(Buffer.concat(pieces))).toBe(true)
    }),
  )
})

it('has few pieces in memory, also of a body that comes byte by byte', async () => {
  const pieces = Array.from({ length: 20_000 }, (_, at) => Buffer.from([at % 251]))
  expect((await read(pieces)).length).toBeLessThan(400)
})
