import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { discoverEngines } from '../../src/agent/engine-addresses.ts'
import { nodeScene } from './node-scene.ts'

/** Bytes of `llama-server` 0.5.0-dev (0c1e570) with a model of random weights, as it sent them to `connection: close`. */
const RECORDED = join(import.meta.dirname, '../agent/recorded/llama.cpp-0.5.0')
const recorded = (name: string): Buffer => readFileSync(join(RECORDED, name))
const metrics = recorded('metrics.txt')
const NOT_FOUND = Buffer.from('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')

/** Answers with the recorded bytes, and ends the connection, as the recorded server did. */
async function startEngine(): Promise<number> {
  const server = createServer(socket => {
    let request = ''
    socket.on('error', () => undefined)
    socket.on('data', bytes => {
      request += bytes.toString('latin1')
      const [head = '', body = ''] = request.split('\r\n\r\n', 2)
      if (!request.includes('\r\n\r\n')) return
      if (body.length < Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)) return
      const [, path = ''] = head.split(' ', 2)
      if (path === '/v1/models') socket.end(recorded('models.http'))
      else if (path === '/metrics')
        socket.end(
          `HTTP/1.1 200 OK\r\nContent-Length: ${metrics.length}\r\nConnection: close\r\n\r\n${metrics.toString()}`,
        )
      else if (path !== '/v1/chat/completions') socket.end(NOT_FOUND)
      else socket.end(recorded(body.includes('"stream":true') ? 'stream.http' : 'chat.http'))
    })
  })
  server.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

test('what a real llama.cpp server sent is discovered, relayed with another model name and nothing else changed, and billed', async () => {
  const port = await startEngine()
  expect(await discoverEngines([port])).toEqual([{ name: 'llama.cpp', host: '127.0.0.1', port }])
  const scene = await nodeScene()
  await scene.node('gpu-1', port)
  expect((await scene.show('gpu-1')).engines).toMatchObject([
    { name: 'vllm', state: 'up', kind: 'llama.cpp', models: ['tiny-random'] },
  ])
  await expect
    .poll(async () =>
      (await scene.metrics()).filter(line => /waiting|running/.test(line) && !line.startsWith('#')),
    )
    .toEqual(expect.arrayContaining([expect.stringMatching(/ 4$/), expect.stringMatching(/ 8$/)]))

  const chat = (await (await scene.call()).json()) as {
    choices: [{ message: { content: string } }]
    model: string
  }
  expect(chat.choices[0].message.content).toBe(')=\\ light)=\\发')
  expect(chat.model).toBe('qwen')
  const stream = await (await scene.call({ stream: true, stream_options: { include_usage: true } })).text()
  const body = recorded('stream.http').subarray(recorded('stream.http').indexOf('\r\n\r\n') + 4)
  expect(stream).toBe(dechunked(body).replaceAll('"model":"tiny-random"', '"model":"qwen"'))
  await expect
    .poll(async () => (await scene.calls()).map(({ usage }) => usage))
    .toEqual([expect.anything(), expect.anything()])
})

/** The body without the framing of its chunks. */
function dechunked(bytes: Buffer): string {
  const pieces: Buffer[] = []
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    if (size === 0) return Buffer.concat(pieces).toString('utf8')
    pieces.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}
