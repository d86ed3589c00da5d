import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readBody } from '../../src/http/body.ts'
import { chunk } from '../gateway/calls.ts'
import { rawClient } from '../gateway/raw-client.ts'
import { testClock } from '../support/test-clock.ts'
import { type DoorOptions, openDoor, REQUEST } from './door.ts'

async function knock(options: DoorOptions = {}) {
  const door = await openDoor(onTestFinished, options)
  return { door, client: await rawClient(onTestFinished, door.url) }
}

const post = (...lines: string[]) => `POST / HTTP/1.1\r\nhost: x\r\n${lines.join('\r\n')}\r\n\r\n`
const UPGRADE = 'POST / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n'
const wanted = (res: ServerResponse) => readBody(res.req, 1_000_000, () => true)

describe('requests with `Upgrade: h2c`, as the JDK and Ktor send each one', () => {
  it.each([
    ['in one segment', [`${UPGRADE}content-length: 2\r\n\r\nhi`]],
    ['with a body in a segment of its own', [`${UPGRADE}content-length: 2\r\n\r\n`, 'hi']],
    ['with chunks', [`${UPGRADE}transfer-encoding: chunked\r\n\r\n`, '2\r\nhi\r\n', '0\r\n\r\n']],
  ])('are served on one connection: %s', async (_title, segments) => {
    const { door, client } = await knock()
    for (const turn of ['first', 'second']) {
      const next = door.next()
      for (const segment of segments) await client.write(segment)
      const res = await next
      const body = await wanted(res)
      expect(body).toMatchObject({ ok: true, lengthBytes: 2 })
      res.end(turn)
      const answer = await client.answer()
      expect(answer.text()).toBe(turn)
      expect(answer.values('connection')).toEqual(['keep-alive'])
    }
  })
})

describe('requests in one segment', () => {
  it('are served one after the other, each when the answer before it has gone', async () => {
    const { door, client } = await knock()
    await client.write(REQUEST.repeat(3))
    for (const name of ['first', 'second', 'third']) {
      const res = await door.next()
      expect(door.served).toBe(['first', 'second', 'third'].indexOf(name) + 1)
      res.end(name)
      expect((await client.answer()).text()).toBe(name)
    }
  })

  it('are not served behind an answer that ends the connection', async () => {
    const { door, client } = await knock()
    await client.write(REQUEST.repeat(2))
    const res = await door.next()
    res.writeHead(400, { connection: 'close' })
    res.end('no')
    expect((await client.answer()).text()).toBe('no')
    await client.closed
    expect(door.served).toBe(1)
  })

  it('are not served behind CONNECT, which is rejected', async () => {
    const { door, client } = await knock()
    await client.write(`CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n${REQUEST}`)
    expect((await client.answer()).status).toBe(400)
    await client.closed
    expect(door.served).toBe(0)
  })

  it('are not served when their client has left', async () => {
    const { door, client } = await knock()
    await client.write(REQUEST.repeat(2))
    const res = await door.next()
    const left = once(res, 'close')
    client.reset()
    await left
    expect(door.served).toBe(1)
  })

  it('end the connection where there are more than any client sends', async () => {
    const { door, client } = await knock()
    await client.write(REQUEST.repeat(130))
    await client.closed
    expect(door.served).toBe(1)
  })

  it('get their answers although the last of them breaks midway', async () => {
    const { door, client } = await knock()
    await client.write(`${REQUEST}${post('transfer-encoding: chunked')}zz\r\n`)
    ;(await door.next()).end('first')
    expect((await client.answer()).text()).toBe('first')
    const answer = await client.answer()
    expect([answer.status, answer.text()]).toEqual([400, '{"code":"bad_request","target":"/"}'])
    await client.closed
    expect(door.served).toBe(1)
  })
})

describe('a client that ends its side behind its request', () => {
  it('has left: what was begun for it is ended at once', async () => {
    const { door, client } = await knock()
    client.socket.end(REQUEST)
    const res = await door.next()
    if (!res.destroyed) await once(res, 'close')
  })

  it('has left where it has closed altogether', async () => {
    const { door, client } = await knock()
    await client.write(REQUEST)
    const left = once(await door.next(), 'close')
    client.socket.destroy()
    await left
  })

  it('has left where the answer has begun', async () => {
    const { door, client } = await knock()
    await client.write(REQUEST)
    const res = await door.next()
    res.write('a part')
    await client.until(answer => answer.text() === 'a part')
    const left = once(res, 'close')
    client.socket.end()
    await left
  })

  it('before the end of its body gets the error of an incomplete one', async () => {
    const { door, client } = await knock()
    await client.write(`${post('content-length: 10')}12345`)
    const read = wanted(await door.next())
    client.socket.end()
    expect(await read).toMatchObject({ ok: false, fault: { code: 'bad_request' } })
  })
})

describe('a body', () => {
  it('is asked for only where it is wanted', async () => {
    const { door, client } = await knock()
    let came = ''
    client.socket.on('data', piece => {
      came += piece.toString('latin1')
    })
    await client.write(post('content-length: 2', 'expect: 100-continue'))
    const first = await door.next()
    first.end('no, thanks')
    await client.closed
    expect(came).not.toContain('100 Continue')

    const other = await rawClient(onTestFinished, door.url)
    await other.write(post('content-length: 2', 'expect: 100-continue'))
    const second = await door.next()
    const read = wanted(second)
    await once(other.socket, 'data')
    await other.write('{}')
    expect(await read).toMatchObject({ ok: true, lengthBytes: 2 })
    second.end('thanks')
    expect((await other.answer()).text()).toBe('thanks')
  })

  it('that stands still for 30 seconds is given up', async () => {
    const clock = testClock()
    const { door, client } = await knock({ clock })
    await client.write(`${post('content-length: 1000')}12345`)
    const read = wanted(await door.next())
    clock.advance(29_000)
    await client.write('6')
    await fence(door)
    clock.advance(29_000)
    await client.write('7')
    await fence(door)
    clock.advance(31_000)
    expect(await read).toMatchObject({ ok: false, fault: { code: 'request_timeout' } })
  })

  it('that trickles is given up when its grace is over, and one of a modem is not', async () => {
    const clock = testClock()
    const { door, client } = await knock({ clock })
    await client.write(`${post('content-length: 1000000')}12345`)
    const trickling = wanted(await door.next())
    const modem = await rawClient(onTestFinished, door.url)
    await modem.write(post('content-length: 500000'))
    const last = await door.next()
    const patient = wanted(last)
    // 5,000 bytes a second for 100 seconds; the other one sends a byte each second.
    for (let second = 0; second < 100; second++) {
      if (second < 40) await client.write('x')
      await modem.write(Buffer.alloc(5_000, 0x20))
      await fence(door)
      clock.advance(1_000)
    }
    expect(await trickling).toMatchObject({ ok: false, fault: { code: 'request_timeout' } })
    expect(await patient).toMatchObject({ ok: true, lengthBytes: 500_000 })
  })

  it('of a rejected request that stands still ends its connection after 5 seconds', async () => {
    const clock = testClock()
    const { door, client } = await knock({ clock })
    await client.write(`${post('content-length: 1000')}12345`)
    ;(await door.next()).end('no')
    expect((await client.answer()).text()).toBe('no')
    clock.advance(7_000)
    await client.closed
  })

  it('of a rejected request that trickles ends its connection after 30 seconds', async () => {
    const clock = testClock()
    const { door, client } = await knock({ clock })
    await client.write(post('transfer-encoding: chunked'))
    ;(await door.next()).end('no')
    expect((await client.answer()).text()).toBe('no')
    for (let second = 0; second < 29; second++) {
      await client.write(chunk('x'))
      await fence(door)
      clock.advance(1_000)
      expect(client.socket.readableEnded).toBe(false)
    }
    for (let second = 29; second < 35; second++) {
      await client.write(chunk('x'))
      clock.advance(1_000)
    }
    await client.closed
  })
})

describe('a head', () => {
  it('that trickles, or never comes, is given up with a 408', async () => {
    const door = await openDoor(onTestFinished, { headMs: 300 })
    for (const bytes of ['', 'GET / HTTP/1.1\r\nhost: x\r\nx: ']) {
      const client = await rawClient(onTestFinished, door.url)
      await client.write(bytes)
      const answer = await client.answer()
      expect([answer.status, answer.text()]).toEqual([408, '{"code":"request_timeout"}'])
      await client.closed
    }
    expect(door.served).toBe(0)
  })
})

describe('a client that reads nothing', () => {
  it('of an ended answer loses its connection after five minutes', async () => {
    const clock = testClock()
    const { door, client } = await knock({ clock })
    client.socket.pause()
    await client.write(REQUEST)
    const res = await door.next()
    const closed = once(res, 'close')
    res.end(Buffer.alloc(50_000_000))
    clock.advance(290_000)
    expect(res.destroyed).toBe(false)
    clock.advance(15_000)
    await closed
    client.socket.resume()
    await client.closed
    expect(client.socket.bytesRead).toBeLessThan(50_000_000)
  })
})

/** What was sent before this has been read when it resolves: it goes through another connection of the same loop. */
async function fence(door: Awaited<ReturnType<typeof openDoor>>): Promise<void> {
  const client = await rawClient(onTestFinished, door.url)
  await client.write(REQUEST)
  const answered = client.answer()
  ;(await door.next()).end()
  await answered
  client.reset()
}
