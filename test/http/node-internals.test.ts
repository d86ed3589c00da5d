import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  allowHalfOpen,
  beforeDestroy,
  closeAfter,
  SharedReads,
  stopAccepting,
  takeChunking,
} from '../../src/http/node-internals.ts'
import { carriers } from '../tunnel/pair.ts'

type Answer = (res: ServerResponse) => void

/** A server of node:http, and a client that has written one request. */
async function exchange(answer: Answer, prepare: (server: Server) => void = () => undefined) {
  const server = createServer((_req, res) => answer(res))
  prepare(server)
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const client = connect({
    port: (server.address() as AddressInfo).port,
    host: '127.0.0.1',
    allowHalfOpen: true,
  })
  onTestFinished(() => {
    client.destroy()
    server.closeAllConnections()
    server.close()
  })
  let text = ''
  client.on('data', piece => {
    text += piece.toString('latin1')
  })
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  return { server, client, text: () => text }
}

/** Resolves once `client` has got `wanted`. */
async function received(client: Socket, text: () => string, wanted: string): Promise<string> {
  while (!text().includes(wanted)) await new Promise(resolve => void client.once('data', resolve))
  return text()
}

it('a body whose chunks were taken over passes unframed', async () => {
  let wasChunked: boolean | undefined
  const { client, text } = await exchange(res => {
    res.writeHead(200, ['x-a', 'b'])
    wasChunked = takeChunking(res)
    res.write('2\r\nok\r\n')
    res.end('0\r\n\r\n')
  })
  const answer = await received(client, text, '0\r\n\r\n')
  expect(wasChunked).toBe(true)
  expect(answer.toLowerCase()).toContain('transfer-encoding: chunked\r\n')
  expect(answer.endsWith('\r\n\r\n2\r\nok\r\n0\r\n\r\n')).toBe(true)
})

it('an answer announces the end of its connection', async () => {
  const { client, text } = await exchange(res => {
    closeAfter(res)
    res.end('bye')
  })
  expect((await received(client, text, 'bye')).toLowerCase()).toContain('connection: close\r\n')
})

it('the end of a connection after its last answer is replaced', async () => {
  const ends: boolean[] = []
  const { client } = await exchange(res => {
    const { socket } = res
    if (socket)
      beforeDestroy(socket, () => {
        ends.push(true)
        return ends.length > 1
      })
    closeAfter(res)
    res.end('bye')
  })
  client.resume()
  await new Promise(resolve => void client.once('end', resolve))
  expect(ends).toEqual([true])
})

it('a client that ends its side gets its answer', async () => {
  let answer: Answer = () => undefined
  const asked = new Promise<ServerResponse>(resolve => {
    answer = resolve
  })
  const { client, text } = await exchange(res => answer(res), allowHalfOpen)
  const res = await asked
  const ended = new Promise(resolve => void res.socket?.once('end', resolve))
  client.end()
  await ended
  res.end('still here')
  expect(await received(client, text, 'still here')).toContain('200 OK')
})

it('a server that stops accepting keeps its idle connections', async () => {
  const { server, client, text } = await exchange(res => res.end('one'))
  await received(client, text, 'one')
  stopAccepting(server)
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await received(client, () => text().slice(text().indexOf('one') + 3), 'one')
  expect(text().match(/200 OK/g)).toHaveLength(2)
})

describe.each(['tcp', 'tls'] as const)('reads of accepted sockets over %s', kind => {
  it('come in order after what was read before, for each socket its own, and end', async () => {
    const reads = new SharedReads()
    const listener = await carriers(kind)
    onTestFinished(() => listener.close())
    const pairs = await Promise.all([listener.dial(), listener.dial()])
    const seen = await Promise.all(
      pairs.map(async ({ gateway, node }, index) => {
        const pieces: string[] = []
        let past = 0
        gateway.unshift(Buffer.from('0'))
        gateway.on('data', (bytes: Buffer) => pieces.push(bytes.toString()))
        const isTaken = reads.take(gateway, (buffer, length) => {
          past++
          pieces.push(buffer.toString('latin1', 0, length))
        })
        const text = `${index}`.repeat(200_000)
        node.end(text)
        await once(gateway, 'end')
        gateway.destroy()
        return { isTaken, past: past > 0, isWhole: pieces.join('') === `0${text}` }
      }),
    )
    expect(seen).toEqual(pairs.map(() => ({ isTaken: true, past: true, isWhole: true })))
  })
})

it('reads of what is no socket pass its stream', () => {
  expect(new SharedReads().take(new PassThrough(), () => undefined)).toBe(false)
})
