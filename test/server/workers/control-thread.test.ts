import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { ControlThread } from '../../../src/server/workers/remote-control.ts'
import { callsOver, endCalls } from '../../../src/server/workers/worker-rpc.ts'
import type { HealthAnswer } from '../../../src/services/health.ts'
import { openStore } from '../../../src/store/open.ts'
import { gate } from '../../support/gate.ts'
import { storeOfFolder } from '../../support/store-of-folder.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { CONTROL_THREADS } from '../../support/whole-gateway.ts'

const LOOPBACK = { host: '127.0.0.1', port: 0 }

const HEALTHY: HealthAnswer = {
  httpStatus: 200,
  reasons: [],
  json: '{"status":"ok"}',
}

/** The thread as it is, and a main thread that records what it receives: lines, and `flush`. */
async function setUp(health: () => HealthAnswer | Promise<HealthAnswer> = () => HEALTHY) {
  const cwd = tempDir(onTestFinished).path
  const storeUrl = await storeOfFolder(cwd)
  const store = await openStore(storeUrl, { mode: 'create', clock: systemClock, folder: cwd })
  await store.close()
  const worker = new Worker(new URL('control-thread.js', CONTROL_THREADS), { execArgv: [] })
  onTestFinished(async () => void (await worker.terminate()))
  const messages: string[] = []
  const flush = gate()
  const main = {
    health,
    currency: () => 'EUR',
    endpoints: () => [],
    explain: async () => undefined,
    writeLines: (text: string) => void messages.push(text),
    flushLines: () => {
      messages.push('flush\n')
      flush.open()
    },
  }
  const thread = callsOver<ControlThread, typeof main>(worker, main)
  onTestFinished(() => endCalls(thread, new Error('over')))
  const open = (address = LOOPBACK, environment: Readonly<Record<string, string>> = {}) =>
    thread.open({
      address,
      storeUrl,
      publicUrl: undefined,
      trustedProxies: [],
      version: '',
      hasConsole: false,
      environment,
      cwd,
      logLevel: 'info',
    } satisfies Parameters<ControlThread['open']>[0])
  /** What it has received until now: the ids of requests, the messages of other lines, and `flush`. */
  const said = () =>
    messages
      .join('')
      .split('\n')
      .slice(0, -1)
      .map(line => {
        if (line === 'flush') return line
        const { request_id: id, msg } = JSON.parse(line) as Record<string, unknown>
        return id ?? msg
      })
  return { worker, thread, messages, flushed: flush.opened, said, open }
}

/** Asks for these, all at once, on one connection. */
async function ask(url: string, ...paths: readonly string[]) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let text = ''
  const asked = paths.map((path, index) => {
    const connection = index === paths.length - 1 ? 'connection: close\r\n' : ''
    return `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${connection}\r\n`
  })
  socket.setEncoding('utf8').on('data', (chunk: string) => void (text += chunk))
  socket.write(asked.join(''))
  await once(socket, 'end')
  socket.destroy()
  const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, found]) => found)
  return { statuses: all(/HTTP\/1\.1 (\d{3})/g), ids: all(/x-request-id: (\w+)/gi) }
}

test('all who ask for the health at a time are one question, each gets its answer, and the next asks anew', async () => {
  const opening = gate()
  let asked = 0
  const { open } = await setUp(async () => {
    asked += 1
    await opening.opened
    return HEALTHY
  })
  const url = await open()
  const waiting = Array.from({ length: 20 }, () => ask(url, '/health'))
  // A request behind them has been answered: they have been received.
  for (let call = 0; call < 3; call++) await ask(url, '/none')
  opening.open()
  for (const { statuses } of await Promise.all(waiting)) expect(statuses).toEqual(['200'])
  expect(asked).toBe(1)
  expect(await ask(url, '/health')).toMatchObject({ statuses: ['200'] })
  expect(asked).toBe(2)
})

test('where that question fails, each caller gets the error, and the next asks anew', async () => {
  const opening = gate()
  let asked = 0
  const { open } = await setUp(async () => {
    asked += 1
    await opening.opened
    if (asked === 1) throw new Error('a bug')
    return HEALTHY
  })
  const url = await open()
  const waiting = [ask(url, '/health'), ask(url, '/health')]
  for (let call = 0; call < 3; call++) await ask(url, '/none')
  opening.open()
  for (const { statuses } of await Promise.all(waiting)) expect(statuses).toEqual(['500'])
  expect(await ask(url, '/health')).toMatchObject({ statuses: ['200'] })
  expect(asked).toBe(2)
})

const FIRST = expect.stringContaining('no user yet')

test('lines are gathered, and come once, in their order, before the message that the plane has closed', async () => {
  const { thread, messages, said, open } = await setUp()
  const { statuses, ids } = await ask(await open(), ...Array.from({ length: 20 }, () => '/none'))
  expect(statuses).toEqual(Array.from({ length: 20 }, () => '404'))
  await thread.close(0)
  expect(said()).toEqual([FIRST, ...ids])
  expect(messages.length).toBeLessThan(15)
})

test('an error is not left among gathered lines', async () => {
  const { flushed, said, open } = await setUp(() => {
    throw new Error('a bug')
  })
  const { ids } = await ask(await open(), '/none', '/health')
  await flushed
  expect(said()).toEqual([FIRST, ...ids, 'flush'])
})

test('what was said before a control plane could not open is not lost with it', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const { said, open } = await setUp()
  await expect(open({ host: '127.0.0.1', port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  expect(said()).toEqual([FIRST])
})

test('nor is what was said before a bug ended the thread', async () => {
  const { worker, said, open } = await setUp()
  const { ids } = await ask(await open(), '/none')
  const deaths: unknown[] = []
  worker.on('error', error => deaths.push(error))
  const gone = new Promise(resolve => worker.once('exit', resolve))
  // It is no call: to take it for one is a bug.
  worker.postMessage(null, [])
  await gone
  expect(deaths).toHaveLength(1)
  expect(said()).toEqual([FIRST, ...ids])
})
