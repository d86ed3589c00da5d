import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { CommandError } from '../../../src/base/catalogue/command.ts'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { GatheredLines } from '../../../src/base/gathered-lines.ts'
import { createLog, type Log, type LogDestination } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { readableLines } from '../../../src/base/readable-lines.ts'
import { serve } from '../../../src/server/serve.ts'
import { openRemoteControl } from '../../../src/server/workers/remote-control.ts'
import { makeFirstAdmin } from '../../../src/services/users.ts'
import { openStore } from '../../../src/store/open.ts'
import { niceness } from '../../support/niceness.ts'
import { storeOfFolder } from '../../support/store-of-folder.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { testClock } from '../../support/test-clock.ts'
import { ON_POSTGRES } from '../../support/test-engine.ts'
import { CONTROL_THREADS, wholeGateway } from '../../support/whole-gateway.ts'

const LOOPBACK = { host: '127.0.0.1', port: 0 }
const PASSWORD = 'correct horse battery'
const STORE_URL = 'sqlite:gw.db'
const NOWHERE = { write: () => undefined }

const logOf = (destination: LogDestination, pretty = false) =>
  createLog(destination, { level: 'info', pretty: pretty && readableLines, colour: false })

/** A thread as it may be, of this code: it has `main` to ask, and `port` to end. */
function threadsOf(body: string): URL {
  const dir = tempDir(onTestFinished)
  const built = (module: string) => JSON.stringify(new URL(module, CONTROL_THREADS).href)
  dir.write(
    'control-thread.js',
    `import { parentPort as port } from 'node:worker_threads'
import { createLog } from ${built('../../base/log.js')}
import { callsOver } from ${built('worker-rpc.js')}
const main = callsOver(port, { ${body} })
`,
  )
  dir.write('package.json', '{"type":"module"}')
  return pathToFileURL(`${dir.path}/`)
}

/** Opens the control plane of such a thread, which no client can reach. */
function openThread(threadsUrl: URL, ports: { log?: Log; clock?: Clock; signal?: AbortSignal } = {}) {
  const deaths: Error[] = []
  const opened = openRemoteControl(LOOPBACK, {
    storeUrl: STORE_URL,
    publicUrl: undefined,
    trustedProxies: [],
    version: '',
    hasConsole: false,
    environment: {},
    cwd: '/',
    health: () => expect.unreachable(),
    endpoints: () => [],
    nodeActivity: () => ({ nodes: [], endpoints: [] }),
    ownGateway: () => undefined,
    view: () => undefined,
    onDeath: error => deaths.push(error),
    threadsUrl,
    clock: systemClock,
    log: logOf(NOWHERE),
    ...ports,
  })
  const closed = async (graceMs: number) => (await opened)?.close(graceMs)
  return { opened, closed, deaths }
}

/** A control plane by itself. */
async function controlOnly(environment: Readonly<Record<string, string>> = {}, control = LOOPBACK) {
  const cwd = tempDir(onTestFinished).path
  const storeUrl = await storeOfFolder(cwd, 'gw.db')
  const store = await openStore(storeUrl, { mode: 'create', clock: systemClock, folder: cwd })
  await store.close()
  const serving = await serve(
    { store: storeUrl, control },
    {
      environment,
      cwd,
      clock: systemClock,
      random: systemRandom,
      log: logOf(NOWHERE),
      threadsUrl: CONTROL_THREADS,
    },
  )
  onTestFinished(() => serving.close(0))
  return serving
}

async function gatewayOf(environment: Readonly<Record<string, string>> = {}, threadsUrl?: URL) {
  const dir = tempDir(onTestFinished)
  const file = dir.write('gw.yaml', 'version: 1\nkeys: { app: { kind: platform } }\n')
  const gateway = await wholeGateway(onTestFinished, file, environment, dir.path, undefined, threadsUrl)
  const secret = await gateway.issue('app')
  const models = async () =>
    (await fetch(`${gateway.gatewayUrl}/v1/models`, { headers: { authorization: `Bearer ${secret}` } }))
      .status
  return { dir, gateway, models }
}

const logIn = (url: string) =>
  fetch(`${url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'admin', password: PASSWORD }),
  })

function isLocked(database: Database.Database): boolean {
  try {
    database.exec('begin immediate; rollback')
    return false
  } catch {
    return true
  }
}

// PostgreSQL counts in a process of its own: the thread that waits for it answers others.
test.skipIf(ON_POSTGRES)(
  'the gateway answers while the control plane is busy with one thing and answers no request',
  {
    timeout: 60_000,
  },
  async () => {
    const { dir, gateway, models } = await gatewayOf({ GW_ADMIN_PASSWORD: PASSWORD })
    const database = new Database(dir.at('gw.db'), { timeout: 0 })
    onTestFinished(() => void database.close())
    // The gateway may be in a transaction, which ends in this thread: it is not waited for in it.
    while (isLocked(database)) await pause(10)
    // A log-in that counts to a million before it is written.
    database.exec(`create trigger busy after insert on sessions begin
    select count(*) from (with recursive n (i) as (select 1 union all select i + 1 from n limit 1000000) select i from n);
  end`)
    const answered: string[] = []
    const note = (what: string) => (response: Response) => {
      answered.push(what)
      return response.status
    }
    const session = logIn(gateway.controlUrl).then(note('log-in'))
    // The one that counts has the lock, and no other has it for longer than a moment.
    for (let looks = 0; looks < 5 && answered.length === 0; looks = isLocked(database) ? looks + 1 : 0) {
      await pause(10)
    }
    const health = fetch(`${gateway.controlUrl}/health`).then(note('health'))
    for (let call = 0; call < 5; call++) expect(await models()).toBe(200)
    expect(answered).toEqual([])
    expect([await session, await health]).toEqual([201, 200])
  },
)

test.runIf(process.platform === 'linux')(
  'it comes behind the gateway, and before those who hash',
  async () => {
    const between = () => niceness().filter(nice => nice > 0 && nice < 19).length
    // Threads of libuv's pool are as nice as the thread that first needs them.
    await readFile('/proc/self/stat')
    const before = between()
    const serving = await controlOnly()
    expect(between()).toBe(before + 1)
    await serving.close(0)
    expect(between()).toBe(before)
  },
)

test('an address that is taken is reported with its hint', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const error = await controlOnly({}, { host: '127.0.0.1', port }).catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(CommandError)
  expect(error).toMatchObject({
    code: 'address_unavailable',
    message: `127.0.0.1:${port} is in use.`,
    hint: expect.stringContaining('with --control-listen'),
  })
})

test('the message for an administrator without a password comes through the thread', async () => {
  await expect(controlOnly({ GW_ADMIN_PASSWORD: 'short' })).rejects.toMatchObject({
    code: 'usage',
    hint: expect.stringContaining('gw users create admin'),
  })
})

test('of two first starts at the same time, one creates the administrator', { timeout: 60_000 }, async () => {
  const folder = tempDir(onTestFinished)
  const store = await openStore('sqlite:gw.db', { mode: 'create', clock: systemClock, folder: folder.path })
  onTestFinished(() => store.close())
  const log = logOf(NOWHERE)
  // Both have seen that there is no user before one of them is created.
  const gate = Promise.withResolvers<void>()
  let hashing = 0
  const hash = async () => {
    if (++hashing === 2) gate.resolve()
    await gate.promise
    return 'a-hash'
  }
  const first = () => makeFirstAdmin(store, { hash }, { environment: { GW_ADMIN_PASSWORD: PASSWORD }, log })
  await Promise.all([first(), first()])
  expect(await store.users.users({ limit: 9 })).toHaveLength(1)
})

test('a control plane by itself answers what a gateway would know', { timeout: 60_000 }, async () => {
  const { controlUrl = '' } = await controlOnly({ GW_ADMIN_PASSWORD: PASSWORD })
  const health = await fetch(`${controlUrl}/health`)
  expect([health.status, await health.json()]).toMatchObject([200, { status: 'ok', revision: 0 }])
  const { token } = (await (await logIn(controlUrl)).json()) as { readonly token: string }
  const ask = async (path: string) => {
    const answer = await fetch(`${controlUrl}/api/v1${path}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    return answer.json()
  }
  expect(await ask('/status')).toMatchObject({
    store_revision: 0,
    revision: null,
    gateways: [],
    problems: ['No gateway serves.'],
  })
  expect(await ask('/why?model=m')).toMatchObject({ source: 'store', keys: [] })
})

test('a thread that dies is reported once, and the gateway closes in order', async () => {
  const threads = threadsOf(
    `open: async () => { setTimeout(() => { throw new Error('a bug') }, 50); return 'http://127.0.0.1:9' }`,
  )
  const { gateway, models } = await gatewayOf({}, threads)
  expect(await gateway.serving.failed).toMatchObject({
    error: { message: 'the thread of the control plane has failed', cause: { message: 'a bug' } },
    canBill: true,
  })
  const shown = gateway.log.filter(line => line.includes('"the control plane has ended"'))
  expect(shown).toHaveLength(1)
  expect(shown[0]).toContain('"level":"error"')
  expect(shown[0]).toContain('a bug')
  expect(await models()).toBe(200)
  await gateway.serving.close(0)
  await expect(models()).rejects.toThrow('fetch failed')
})

test.each([
  ['while it opens', `open: () => { process.exit(1) }`],
  ['before it opens', `}); process.exit(1); ({`],
])('a thread that ends %s is no control plane', async (_when, body) => {
  const { opened, deaths } = openThread(threadsOf(body))
  await expect(opened).rejects.toThrow('the thread of the control plane has ended')
  expect(deaths).toHaveLength(1)
})

test('a thread that ends while it closes has closed', async () => {
  await openThread(threadsOf(`open: async () => '', close: () => { process.exit(1) }`)).closed(0)
})

test('a thread that closes has not died', async () => {
  const { closed, deaths } = openThread(threadsOf(`open: async () => '', close: async () => undefined`))
  await closed(0)
  expect(deaths).toEqual([])
})

test('no caller waits for a thread that comes up once the end has been asked for', async () => {
  const asked = new AbortController()
  const { opened, deaths } = openThread(
    threadsOf(`open: () => new Promise(() => setTimeout(() => {}, 60_000))`),
    {
      signal: asked.signal,
    },
  )
  asked.abort()
  expect(await opened).toBeUndefined()
  expect(deaths).toEqual([])
})

test('a thread that hears nothing is waited for no longer than those whom it serves, and a second', async () => {
  const clock = testClock()
  const deaf = `open: async () => '', close: () => new Promise(() => setTimeout(() => {}, 60_000))`
  const { closed, opened, deaths } = openThread(threadsOf(deaf), { clock })
  await opened
  let isClosed = false
  const closing = (async () => {
    await closed(5_000)
    isClosed = true
  })()
  await clock.waiting(1)
  clock.advance(5_999)
  expect(isClosed).toBe(false)
  clock.advance(1)
  await closing
  expect(deaths).toEqual([])
})

/** What a thread says at its opening, through a log like that of the control plane. */
const SAYS = `async open({ logLevel }) {
  const lines = { write: line => void main.writeLines.asEvent(line), flush: () => void main.flushLines.asEvent() }
  const log = createLog(lines, { level: logLevel, pretty: false, colour: false })
  for (let i = 0; i < 50; i++) log.info({ i }, 'said')
  log.debug('not said')
  log.error('wrong')
  log.info('behind')
  return ''
}, close: async () => undefined`

test('lines of its log come once, in their order and at the level of the log, and an error is not left among gathered ones', async () => {
  const written: string[] = []
  const lines = new GatheredLines(text => void written.push(text), testClock())
  const control = openThread(threadsOf(SAYS), { log: logOf(lines) })
  await control.opened
  const said = written
    .join('')
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as Record<string, unknown>)
  expect(said.map(({ i, msg }) => i ?? msg)).toEqual([...Array(50).keys(), 'wrong'])
  lines.flush()
  expect(written.at(-1)).toMatch(/^\{"level":"info".*"behind"\}\n$/)
  await control.closed(0)
})

test('lines of its log are put into words where those of the others are', async () => {
  let text = ''
  const control = openThread(threadsOf(SAYS), { log: logOf({ write: line => void (text += line) }, true) })
  await control.opened
  expect(text).toMatch(/INFO.*said/)
  expect(text).not.toContain('{"level"')
  await control.closed(0)
})

test('calls of the control plane are lines of the one log', async () => {
  const { gateway } = await gatewayOf()
  for (let call = 0; call < 10; call++) await fetch(`${gateway.controlUrl}/api/v1/none/${call}`)
  await gateway.serving.close(0)
  const lines = gateway.log.filter(line => line.includes('"msg":"control"'))
  expect(lines).toHaveLength(10)
  for (const line of lines)
    expect(JSON.parse(line)).toMatchObject({ error_code: 'unknown_path', status: 404 })
})
