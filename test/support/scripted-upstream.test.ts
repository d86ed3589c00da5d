import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { byteByByte, bytes, cutAt, json, reply, reset, silence, sse } from './answers.ts'
import { gate } from './gate.ts'
import { scriptedUpstream } from './scripted-upstream.ts'

const upstream = await scriptedUpstream(afterAll)
beforeEach(() => upstream.forget())

async function dial(): Promise<Socket> {
  const socket = connect({ port: upstream.port, host: '127.0.0.1', noDelay: true })
  onTestFinished(() => {
    socket.destroy()
  })
  await once(socket, 'connect')
  return socket
}

test('records a request byte for byte: header order, letter case, repeated names, body', async () => {
  upstream.answerNext(json({ ok: true }))
  const recorded = upstream.nextRequest()
  const socket = await dial()
  const head = 'POST /v1/x?a=%20 HTTP/1.1\r\nHost: h\r\nX-B:  1 \r\nx-b: 2\r\nContent-Length: 4\r\n\r\n'
  socket.write(`${head}\u00e9ab`)
  const request = await recorded
  await request.received
  expect(request.head.toString()).toBe(head)
  expect(request.headerLines).toEqual([
    ['Host', 'h'],
    ['X-B', '1'],
    ['x-b', '2'],
    ['Content-Length', '4'],
  ])
  expect(request).toMatchObject({ method: 'POST', target: '/v1/x?a=%20', path: '/v1/x', version: 'HTTP/1.1' })
  expect(request.text()).toBe('éab')
  expect(() => request.header('x-b')).toThrow('2 lines')
})

test('reads a chunked body however its bytes are torn, and the request behind it', async () => {
  upstream.answerNext(json({}), json({}))
  const [first, second] = [upstream.nextRequest(), upstream.nextRequest()]
  const socket = await dial()
  const body = '3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nx-trailer: 1\r\n\r\n'
  for (const piece of byteByByte(
    `POST /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n${body}GET /b HTTP/1.1\r\n\r\n`,
  )) {
    socket.write(piece)
  }
  await (await second).received
  expect((await first).text()).toBe('abcde')
  expect(await second).toMatchObject({ path: '/b', framing: 'none', connection: (await first).connection })
})

test('holds a body at a gate until the test opens it', async () => {
  const door = gate()
  upstream.answerNext(sse(['data: 1\n\n', door, ...cutAt('data: 2\n\n', 3)]))
  const answer = await fetch(upstream.url)
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  expect((await reader.read()).value).toBe('data: 1\n\n')
  door.open()
  let rest = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value
  expect(rest).toBe('data: 2\n\n')
})

test('tells when a client hangs up, and only while an answer is owed', async () => {
  upstream.answerNext(json({}), silence)
  const socket = await dial()
  const answered = upstream.nextRequest()
  socket.write('GET /1 HTTP/1.1\r\n\r\n')
  await once(socket, 'data')
  const waiting = upstream.nextRequest()
  socket.write('GET /2 HTTP/1.1\r\n\r\n')
  const request = await waiting
  expect(request.hungUp).toBe(false)
  socket.destroy()
  await request.gone
  expect(request.hungUp).toBe(true)
  expect((await answered).hungUp).toBe(false)
})

test('answers before the body is complete where it was asked to', async () => {
  const early = await scriptedUpstream(onTestFinished, { answerAt: 'head' })
  early.answer(json({ early: true }))
  const socket = connect(early.port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\ncontent-length: 1000\r\n\r\nonly this')
  const [data] = (await once(socket, 'data')) as [Buffer]
  expect(data.toString()).toMatch(/^HTTP\/1.1 200 /)
  socket.destroy()
})

test('cuts, resets and talks garbage', async () => {
  upstream.answerNext(
    reset,
    bytes('SSH-2.0-OpenSSH\r\n'),
    reply({ body: 'half', framing: 'chunked', ending: 'cut' }),
    reply({ body: 'half', framing: 'chunked', ending: 'reset' }),
    reply({ body: 'whole', framing: 'close' }),
  )
  await expect(fetch(upstream.url)).rejects.toThrow()
  await expect(fetch(upstream.url)).rejects.toThrow()
  await expect(fetch(upstream.url).then(answer => answer.text())).rejects.toThrow()
  await expect(fetch(upstream.url).then(answer => answer.text())).rejects.toThrow()
  expect(await fetch(upstream.url).then(answer => answer.text())).toBe('whole')
})

test('tells a flood to stop when the reader leaves', async () => {
  let sent = 0
  let over = (): void => undefined
  const flooded = new Promise<void>(resolve => {
    over = resolve
  })
  upstream.answerNext(async exchange => {
    while (await exchange.write(Buffer.alloc(65_536))) sent += 65_536
    over()
  })
  const socket = await dial()
  socket.pause()
  const recorded = upstream.nextRequest()
  socket.write('GET / HTTP/1.1\r\n\r\n')
  await recorded
  socket.destroy()
  await flooded
  expect(sent).toBeLessThan(64 * 1_048_576) // what the kernel's buffers hold, not a flood
})

test('says so when no answer was scripted, and rejects its close when an answer threw', async () => {
  const other = await scriptedUpstream(() => undefined)
  const answer = await fetch(`${other.url}/x`)
  expect([answer.status, await answer.text()]).toEqual([599, 'no answer was scripted for GET /x'])
  other.answer(() => {
    throw new Error('broken script')
  })
  await expect(fetch(other.url)).rejects.toThrow()
  await expect(other.close()).rejects.toThrow('a scripted answer threw')
})

test('drops idle connections', async () => {
  upstream.answerNext(json({}))
  const socket = await dial()
  socket.write('GET / HTTP/1.1\r\n\r\n')
  await once(socket, 'data')
  expect(upstream.connections).toBeGreaterThan(0)
  const failed = once(socket, 'error')
  upstream.dropConnections()
  expect(await failed).toEqual([expect.objectContaining({ code: 'ECONNRESET' })])
})
