import type { ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { type Listener, listen } from '../../src/http/listen.ts'
import { rawClient } from '../gateway/raw-client.ts'
import { freePort } from '../support/free-port.ts'

const silentLog = createLog({ write: () => undefined }, { level: 'silent', pretty: false, colour: false })
const REQUEST = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'

/** A listener that hands its answers to the test. */
async function listener(port = 0): Promise<{ door: Listener; next: () => Promise<ServerResponse> }> {
  const answers: ServerResponse[] = []
  const waiting: ((res: ServerResponse) => void)[] = []
  const door = await listen({
    address: { host: '127.0.0.1', port },
    clock: systemClock,
    onRequest: (_req, res) => {
      const waiter = waiting.shift()
      if (waiter) waiter(res)
      else answers.push(res)
    },
    rejectionAnswer: ({ code }) => ({ headers: {}, body: JSON.stringify({ code }) }),
    maxConnections: 100,
    log: silentLog,
  })
  onTestFinished(() => door.close(0))
  return {
    door,
    next: () => {
      const answer = answers.shift()
      return answer ? Promise.resolve(answer) : new Promise(resolve => waiting.push(resolve))
    },
  }
}

describe('a listener', () => {
  it('says where it listens, and fails where another process does', async () => {
    const port = await freePort()
    expect((await listener(port)).door.url).toBe(`http://127.0.0.1:${port}`)
    await expect(listener(port)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })

  it('gives bytes that are no request the body of its owner', async () => {
    const { door } = await listener()
    const client = await rawClient(onTestFinished, door.url)
    await client.write('nonsense\r\n\r\n')
    const answer = await client.answer()
    expect(answer.status).toBe(400)
    expect(answer.json()).toEqual({ code: 'bad_request' })
  })

  it('lets go of such a connection soon, although the client never ends its side', async () => {
    const { door } = await listener()
    const client = await rawClient(onTestFinished, door.url)
    client.socket.allowHalfOpen = true
    await client.write('nonsense\r\n\r\n')
    await client.answer()
    const started = performance.now()
    await door.close(15_000)
    expect(performance.now() - started).toBeLessThan(5_000)
  })
})

describe('closing', () => {
  it('lets a request at hand finish, then ends its connection without waiting for the client', async () => {
    const { door, next } = await listener()
    const client = await rawClient(onTestFinished, door.url)
    await client.write(REQUEST)
    const res = await next()
    const started = performance.now()
    const closed = door.close(10_000)
    res.end('done')
    expect((await client.answer()).text()).toBe('done')
    await closed
    await client.closed
    expect(performance.now() - started).toBeLessThan(2_000)
  })

  it('accepts no connection any more, and ends idle ones at once', async () => {
    const { door, next } = await listener()
    const [idle, busy] = [
      await rawClient(onTestFinished, door.url),
      await rawClient(onTestFinished, door.url),
    ]
    await busy.write(REQUEST)
    const res = await next()
    const closed = door.close(10_000)
    await idle.closed
    await expect(rawClient(onTestFinished, door.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    res.end()
    await closed
  })

  it('still answers a request that was on its way on an idle connection, and says that the connection closes', async () => {
    const { door, next } = await listener()
    const client = await rawClient(onTestFinished, door.url)
    await client.write(REQUEST)
    ;(await next()).end('before')
    expect((await client.answer()).values('connection')).toEqual(['keep-alive'])
    const closed = door.close(10_000, 5_000)
    await client.write(REQUEST)
    ;(await next()).end('behind')
    const answer = await client.answer()
    expect({ text: answer.text(), connection: answer.values('connection') }).toEqual({
      text: 'behind',
      connection: ['close'],
    })
    await client.closed
    await closed
  })

  it('waits longer for a client that may still be reading an answer without that announcement', async () => {
    const { door, next } = await listener()
    const [idle, reading] = [
      await rawClient(onTestFinished, door.url),
      await rawClient(onTestFinished, door.url),
    ]
    await reading.write(REQUEST)
    const res = await next()
    res.write('begun')
    const order: string[] = []
    const closed = door.close(10_000, 200)
    const ends = [
      idle.closed.then(() => order.push('idle')),
      reading.closed.then(() => order.push('reading')),
    ]
    res.end()
    await reading.answer()
    await idle.closed
    await reading.write(REQUEST)
    ;(await next()).end('behind')
    expect((await reading.answer()).values('connection')).toEqual(['close'])
    await Promise.all([closed, ...ends])
    expect(order).toEqual(['idle', 'reading'])
  })

  it('says so also in an answer that had not begun when it began to close', async () => {
    const { door, next } = await listener()
    const client = await rawClient(onTestFinished, door.url)
    await client.write(REQUEST)
    const res = await next()
    const closed = door.close(10_000)
    res.end()
    expect((await client.answer()).values('connection')).toEqual(['close'])
    await closed
  })

  it('cuts what is left when its grace is over', async () => {
    const { door, next } = await listener()
    const client = await rawClient(onTestFinished, door.url)
    await client.write(REQUEST)
    await next()
    await door.close(20)
    await client.closed
  })
})
