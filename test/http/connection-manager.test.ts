import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { rawClient } from '../gateway/raw-client.ts'
import { testClock } from '../support/test-clock.ts'
import { openDoor, REQUEST } from './door.ts'

async function room(maxConnections: number) {
  const clock = testClock()
  const door = await openDoor(onTestFinished, { clock, maxConnections })
  const enter = async (bytes = '') => {
    const client = await rawClient(onTestFinished, door.url)
    if (bytes !== '') await client.write(bytes)
    return client
  }
  /** A client whose request is being served. */
  const serve = async () => {
    const client = await enter(REQUEST)
    return { client, res: await door.next() }
  }
  return { clock, door, enter, serve }
}

describe('where there is no room for another connection', () => {
  it('the one that has rested longest makes it, whether it dribbles a head or is idle', async () => {
    const { clock, door, enter, serve } = await room(3)
    const slow = await enter('GET / HT')
    const idle = await serve()
    idle.res.end('done')
    await idle.client.answer()
    const busy = await serve()
    clock.advance(3_000)
    await serve()
    await slow.closed
    const last = await serve()
    await idle.client.closed
    last.res.end('served')
    expect((await last.client.answer()).text()).toBe('served')
    busy.res.end('still there')
    expect((await busy.client.answer()).text()).toBe('still there')
    clock.advance(1_000)
    expect(door.logged).toMatchObject([
      { level: 'warn', limit: 3, evicted: 2, rejected: 0, msg: 'connections are at their limit' },
    ])
  })

  it('and all of them serve, the new one gets an answer that says so', async () => {
    const { clock, door, enter, serve } = await room(2)
    const [one, two] = [await serve(), await serve()]
    clock.advance(60_000)
    const third = await enter()
    const answer = await third.answer()
    expect([answer.status, answer.text()]).toEqual([503, '{"code":"too_many_connections"}'])
    expect(answer.values('connection')).toEqual(['close'])
    await third.closed
    third.socket.destroy()
    one.res.end('one')
    two.res.end('two')
    expect((await one.client.answer()).text()).toBe('one')
    expect((await two.client.answer()).text()).toBe('two')
    one.client.socket.destroy()
    await one.client.closed
    clock.advance(1_000)
    expect(door.logged).toMatchObject([{ evicted: 0, rejected: 1 }])
  })

  it('what a client says that was turned away is not served', async () => {
    const { door, enter, serve } = await room(1)
    await serve()
    const away = await enter(REQUEST)
    expect((await away.answer()).status).toBe(503)
    await away.closed
    expect(door.served).toBe(1)
  })

  it('a connection that has just come is not closed for the next: its first bytes may be on the way', async () => {
    const { enter, door } = await room(2)
    const early = [await enter(), await enter()]
    const late = await enter()
    expect((await late.answer()).status).toBe(503)
    for (const client of early) {
      await client.write(REQUEST)
      ;(await door.next()).end('served')
      expect((await client.answer()).text()).toBe('served')
    }
  })

  it('fifty that dribble do not keep out those that ask', async () => {
    const { clock, door, enter, serve } = await room(50)
    for (let count = 0; count < 50; count++) await enter('GET / HTTP/1.1\r\nx: ')
    clock.advance(3_000)
    for (let count = 0; count < 50; count++) {
      const { client, res } = await serve()
      res.end('served')
      expect((await client.answer()).text()).toBe('served')
    }
    expect(door.served).toBe(50)
  })

  it('there is some again when one has left', async () => {
    const { serve } = await room(1)
    const { client, res } = await serve()
    const closed = once(res, 'close')
    client.reset()
    await closed
    await serve()
  })
})
