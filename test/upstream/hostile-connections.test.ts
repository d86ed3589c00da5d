import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { createServer as createTls } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { tlsMaterial } from '../../src/base/tls-material.ts'
import { TunnelStream } from '../../src/tunnel/stream.ts'
import { UpstreamConnection } from '../../src/upstream/connection.ts'
import { Deadlines } from '../../src/upstream/deadlines.ts'
import { Exchange } from '../../src/upstream/exchange.ts'
import { requestHead } from '../../src/upstream/headers.ts'
import { ClientPool, Pools } from '../../src/upstream/pools.ts'
import { ResponseParser } from '../../src/upstream/response-parser.ts'
import { bareUpstream } from '../support/bare-upstream.ts'
import { certificate } from '../support/certificate.ts'

const REQUEST = { head: 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n', body: [], lengthBytes: 0 }
const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'

function recorder(takes: () => boolean) {
  const log: string[] = []
  return {
    log,
    onDispatched: () => undefined,
    onSent: () => undefined,
    onAnswering: () => undefined,
    onHead: (status: number) => void log.push(`head ${status}`),
    onData: (bytes: Buffer) => (log.push(bytes.toString()), takes()),
    onComplete: () => void log.push('complete'),
    onFailed: (error: Error) => void log.push(`failed ${error.message}`),
  }
}

function tunnelled() {
  const owner = {
    requestTurn: (each: TunnelStream) =>
      queueMicrotask(() => void each.takeTurn({ addData: () => undefined, add: () => undefined } as never)),
    sendCredit: () => undefined,
    queued: () => undefined,
    ended: () => undefined,
  }
  const stream = new TunnelStream({
    id: 1,
    owner,
    sendWindow: 1e6,
    receiveWindow: 1e6,
    onread: UpstreamConnection.readOptions(),
  })
  const connection = new UpstreamConnection(
    done => queueMicrotask(() => done(null, stream as unknown as Socket)),
    true,
  )
  return { stream, connection }
}

it('an answer of a node that is stopped again while it resumes ends once it is taken', async () => {
  const { stream, connection } = tunnelled()
  let takes = false
  const first = recorder(() => takes)
  connection.send(REQUEST, first)
  await nextTurn()
  stream.receive(Buffer.from(`${HEAD}3\r\none\r\n`))
  stream.receive(Buffer.from('3\r\ntwo\r\n0\r\n\r\n'))
  connection.resume()
  expect(first.log).toEqual(['head 200', 'one', 'two'])
  takes = true
  connection.resume()
  expect(first.log).toEqual(['head 200', 'one', 'two', 'complete'])
})

it('a connection whose answer was stopped twice serves the next request', async () => {
  const { stream, connection } = tunnelled()
  const first = recorder(() => false)
  connection.send(REQUEST, first)
  await nextTurn()
  stream.receive(Buffer.from(`${HEAD}3\r\none\r\n`))
  stream.receive(Buffer.from('3\r\ntwo\r\n0\r\n\r\n'))
  connection.resume()
  if (!first.log.includes('complete')) connection.resume()
  expect(connection.isReusable).toBe(true)
  const second = recorder(() => true)
  connection.send(REQUEST, second)
  stream.receive(Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
  await nextTurn()
  expect(second.log).toEqual(['head 200', 'ok', 'complete'])
})

it('a request that begins at the end of the one before is not ended by it', async () => {
  const { stream, connection } = tunnelled()
  let takes = false
  const second = recorder(() => true)
  const first = recorder(() => takes)
  first.onComplete = () => {
    connection.rest()
    connection.send(REQUEST, second)
  }
  connection.send(REQUEST, first)
  await nextTurn()
  stream.receive(Buffer.from(`${HEAD}3\r\none\r\n`))
  stream.receive(Buffer.from('3\r\ntwo\r\n0\r\n\r\n'))
  takes = true
  connection.resume()
  expect(second.log).toEqual([])
})

it('a stream of a node whose end came while its answer was paused is not reused', async () => {
  const { stream, connection } = tunnelled()
  const first = recorder(() => false)
  connection.send(REQUEST, first)
  await nextTurn()
  stream.receive(Buffer.from(`${HEAD}3\r\none\r\n0\r\n\r\n`))
  stream.receiveFin()
  await nextTurn()
  connection.resume()
  expect(first.log).toEqual(['head 200', 'one', 'complete'])
  expect(connection.isReusable).toBe(false)
})

function upstreamOf(url: string) {
  return {
    name: 'e',
    origin: url,
    basePath: '',
    headers: [],
    connectMs: 5000,
    firstByteMs: 5000,
    idleMs: 5000,
    totalMs: 9000,
  }
}

it('a request in flight is not sent again when the gateway closes its connections', async () => {
  let requests = 0
  const upstream = await bareUpstream(onTestFinished, socket => {
    requests++
    if (requests === 1)
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}')
  })
  const pools = new Pools(systemClock)
  const ports = { pools, deadlines: new Deadlines(systemClock), clock: systemClock }
  const results: string[] = []
  const run = () =>
    new Promise<void>(resolve => {
      const exchange = new Exchange(
        request({ upstream: upstreamOf(upstream.url), body: [Buffer.from('x')], lengthBytes: 1 }),
        ports,
        systemClock.monotonicMs(),
        {
          onAnswer: () => ({
            onPiece: () => true,
            onEnd: () => {
              results.push('end')
              resolve()
            },
            onBreak: () => undefined,
          }),
          onNoAnswer: () => {
            results.push(`failed ${exchange.dispatched}`)
            resolve()
          },
        },
      )
    })
  await run()
  await nextTurn()
  await nextTurn()
  await nextTurn()
  const second = run()
  onTestFinished(() => pools.destroy())
  await expect.poll(() => requests).toBe(2)
  pools.destroy()
  await Promise.race([second, pause(300)])
  expect(requests).toBe(2)
  expect(results).toEqual(['end', 'failed true'])
})

it('a connection whose complete answer is paused is closed with the pool', async () => {
  const upstream = await bareUpstream(onTestFinished, socket => {
    socket.write(`${HEAD}3\r\none\r\n0\r\n\r\n`)
  })
  const pool = new ClientPool({ origin: upstream.url, connectMs: 5000 }, systemClock)
  const connection = pool.take()
  const first = recorder(() => false)
  onTestFinished(() => connection.destroy())
  connection.send(REQUEST, first)
  await expect.poll(() => first.log).toEqual(['head 200', 'one'])
  pool.destroy()
  expect(connection.isClosed).toBe(true)
})

it('a connection that rests during a search for expired ones is closed when it expires', async () => {
  const timers = new Set<() => void>()
  let nowMs = 0
  const clock = {
    ...systemClock,
    monotonicMs: () => nowMs,
    after: (_ms: number, run: () => void) => {
      timers.add(run)
      return { cancel: () => void timers.delete(run) }
    },
  }
  const upstream = await bareUpstream(onTestFinished, socket => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
  })
  const pool = new ClientPool({ origin: upstream.url, connectMs: 5000 }, clock)
  onTestFinished(() => pool.destroy())
  const once = async () => {
    const connection = pool.take()
    const log = recorder(() => true)
    connection.send(REQUEST, log)
    await expect.poll(() => log.log).toEqual(['head 200', 'complete'])
    pool.release(connection)
    return connection
  }
  await once()
  await nextTurn()
  await nextTurn()
  await nextTurn()
  const connection = await once()
  const fire = () => {
    const due = [...timers]
    timers.clear()
    for (const run of due) run()
  }
  nowMs = 1000
  fire() // while it rests
  await nextTurn()
  await nextTurn()
  await nextTurn()
  nowMs = 60_000
  fire()
  expect(connection.isClosed).toBe(true)
})

it('over TLS, a piece that is not taken pauses although more of the same read follows it', async () => {
  const { key, cert } = certificate({ names: ['localhost'] })
  const server = createTls({ key, cert }, socket => {
    socket
      .on('error', () => undefined)
      .once('data', () => {
        socket.cork()
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 262144\r\n\r\n')
        socket.write(Buffer.alloc(262144))
        process.nextTick(() => socket.uncork())
      })
    onTestFinished(() => void socket.destroy())
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const port = (server.address() as AddressInfo).port
  const pools = new Pools(systemClock)
  onTestFinished(() => pools.destroy())
  const ports = { pools, deadlines: new Deadlines(systemClock), clock: systemClock }
  let pieces = 0
  const upstream = {
    ...upstreamOf(`https://localhost:${port}`),
    tls: tlsMaterial({ ca: cert, cert: undefined, key: undefined }),
  }
  const ended = new Promise<string>(resolve => {
    const exchange = new Exchange(
      request({ upstream, body: [Buffer.from('x')], lengthBytes: 1 }),
      ports,
      systemClock.monotonicMs(),
      {
        onAnswer: answered => ({
          onPiece: () => {
            if (++pieces > 1) return true
            setTimeout(() => answered.resume(), 50)
            return false
          },
          onEnd: () => resolve('end'),
          onBreak: () => resolve('broke'),
        }),
        onNoAnswer: () => resolve('failed'),
      },
    )
    onTestFinished(() => exchange.abort(new Error('the test is over')))
  })
  expect(await ended).toBe('end')
})

const ROUTE = { host: 'h', pathPrefix: '', proxyHeaders: [] }
const request = (more: object) => ({
  upstream: upstreamOf('http://h'),
  method: 'POST' as const,
  pathAndQuery: '/',
  headers: [],
  body: [],
  lengthBytes: 0,
  contentType: undefined,
  mayBeOpaque: true,
  ...more,
})
it.each([
  ['a value', { headers: ['x', 'a\r\ntransfer-encoding: chunked'] }],
  ['a path', { pathAndQuery: '/ HTTP/1.1\r\ntransfer-encoding: chunked\r\nx: y' }],
  ['a name', { headers: ['x: a\r\ntransfer-encoding', 'chunked'] }],
])('%s of a request cannot add a line', (_what, more) => {
  expect(() => requestHead(request(more), ROUTE)).toThrow()
})

it('a connection with a body that was not read by the upstream is not reused', async () => {
  const server = createServer(socket => {
    socket
      .on('error', () => undefined)
      .once('data', () => {
        socket.pause()
        socket.write('HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n')
      })
    onTestFinished(() => void socket.destroy())
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const upstream = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  const pool = new ClientPool({ origin: upstream.url, connectMs: 5000 }, systemClock)
  onTestFinished(() => pool.destroy())
  const connection = pool.take()
  const log = recorder(() => true)
  const body = Buffer.alloc(30_000_000)
  connection.send(
    {
      head: `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`,
      body: [body],
      lengthBytes: body.length,
    },
    log,
  )
  await expect.poll(() => log.log).toEqual(['head 401', 'complete'])
  expect(connection.isReusable).toBe(false)
})

it('connection: close holds, whatever else is said', () => {
  const parser = new ResponseParser({ onHead: () => undefined, onData: () => undefined })
  parser.begin()
  parser.push(
    Buffer.from(
      'HTTP/1.1 200 OK\r\nconnection: close\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n',
    ),
  )
  expect(parser.keepAlive).toBe(false)
})
