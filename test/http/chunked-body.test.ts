import { once } from 'node:events'
import { createServer, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ChunkedBody } from '../../src/http/chunked-body.ts'

/** A server that answers each request by what the test does with its body. */
async function answering(answer: (body: ChunkedBody, res: ServerResponse) => unknown): Promise<number> {
  const server = createServer((_req, res) => {
    res.writeHead(200, ['content-type', 'text/plain'])
    answer(new ChunkedBody(res), res)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Every byte of the answers to raw requests, until the server ends the connection. */
async function raw(port: number, requests: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(requests)
  return text(socket)
}

/** Bytes that fill exactly their place. */
const sourceOf = (whole: Buffer) => ({
  length: whole.length,
  copyTo: (target: Buffer, at: number) => void whole.copy(target, at),
})

const bytes = (...parts: string[]) => parts.map(part => Buffer.from(part))

describe('an answer of unknown length', () => {
  it.each([1, 15, 16, 255, 256, 4_095, 4_096, 16_384, 16_385])('frames %i bytes of a source', async size => {
    const whole = Buffer.alloc(size, 'x')
    const port = await answering(async body => {
      body.writeFrom(sourceOf(whole))
      await nextTurn()
      body.writeFrom(sourceOf(whole))
      body.end([])
    })
    const answer = await raw(port, 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    const framed = `${size.toString(16)}\r\n${whole.toString()}\r\n`
    expect(answer.slice(answer.indexOf('\r\n\r\n') + 4) === `${framed}${framed}0\r\n\r\n`).toBe(true)
  })

  it('sends the parts of one write as one chunk, and the last with the end of the body', async () => {
    const port = await answering(body => {
      body.write(bytes('data: ', 'one'))
      body.end(bytes('two'))
    })
    const last = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
    const [head, ...rest] = (await raw(port, last)).split('\r\n\r\n')
    expect(head).toContain('\r\nTransfer-Encoding: chunked')
    expect(rest.join('\r\n\r\n')).toBe('9\r\ndata: one\r\n3\r\ntwo\r\n0\r\n\r\n')
  })

  it('leaves the connection to the next request', async () => {
    const port = await answering(body => body.end(bytes('x')))
    const both = 'GET / HTTP/1.1\r\nhost: x\r\n\r\nGET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
    expect((await raw(port, both)).match(/1\r\nx\r\n0\r\n\r\n/g)).toHaveLength(2)
  })

  it('has no chunks for a client of HTTP/1.0, which would not know them', async () => {
    const port = await answering(body => {
      body.write(bytes('one', 'two'))
      body.end(bytes('three'))
    })
    const answer = await raw(port, 'GET / HTTP/1.0\r\n\r\n')
    expect(answer.split('\r\n\r\n').slice(1)).toEqual(['onetwothree'])
    expect(answer).not.toMatch(/transfer-encoding/i)
  })

  it('arrives byte for byte, whatever its parts, and nothing in them ends it early', async () => {
    let parts: Buffer[][] = []
    const port = await answering(async (body, res) => {
      for (const [index, each] of parts.slice(0, -1).entries()) {
        const whole = Buffer.concat(each)
        const isWritten =
          index % 3 === 0 || whole.length === 0 ? body.write(each) : body.writeFrom(sourceOf(whole))
        if (!isWritten) await once(res, 'drain')
        else if (index % 2 === 0) await nextTurn()
      }
      body.end(parts.at(-1) ?? [])
    })
    const part = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.integer({ min: 0, max: 40_000 }).map(size => new Uint8Array(size).fill(48)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(part, { maxLength: 3 }), { maxLength: 8 }), async given => {
        parts = given.map(write => write.map(each => Buffer.from(each)))
        const asked = request({ host: '127.0.0.1', port }).end()
        const [answer] = await once(asked, 'response')
        expect(Buffer.concat(parts.flat()).equals(await buffer(answer))).toBe(true)
        expect(answer.complete).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  it('says when its client does not take it as fast as it comes, and when it does again', async () => {
    const events: string[] = []
    const port = await answering(async (body, res) => {
      const part = bytes('x'.repeat(10_000))
      while (body.write(part)) await new Promise(resolve => void setImmediate(resolve))
      events.push('full')
      await once(res, 'drain')
      events.push('drained')
      body.end([])
    })
    const asked = request({ host: '127.0.0.1', port }).end()
    const [answer] = await once(asked, 'response')
    while (events.length === 0) await new Promise(resolve => void setImmediate(resolve))
    const { length } = await buffer(answer)
    expect(length % 10_000).toBe(0)
    expect(events).toEqual(['full', 'drained'])
  })
})
