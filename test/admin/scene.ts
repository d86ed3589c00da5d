import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { configurationsOn } from '../../src/admin/configurations.ts'
import { startControl } from '../../src/admin/server.ts'
import type { Clock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { PasswordHasher } from '../../src/base/password.ts'
import { systemRandom } from '../../src/base/random.ts'
import { API_PREFIX, type OperationId, operation } from '../../src/schema/api/operations.ts'
import type { Carrier, Role } from '../../src/schema/user.ts'
import type { ProbeOrder } from '../../src/services/changes/types.ts'
import type { EndpointContext } from '../../src/services/endpoints.ts'
import type { ProbeRow } from '../../src/services/probe-round.ts'
import { sealCredential } from '../../src/services/secrets.ts'
import type { ExplainHere } from '../../src/services/why/ask.ts'
import { MasterKey } from '../../src/store/master-key.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/types.ts'
import { canonical, MINE, put } from '../store/samples.ts'
import { storeDatabase, type TestDatabase } from '../support/postgres.ts'
import { tempDir } from '../support/temp-dir.ts'
import { testClock } from '../support/test-clock.ts'
import { ON_POSTGRES } from '../support/test-engine.ts'
import type { WhenOver } from '../support/when-over.ts'
import { undocumented } from './documented.ts'

export const PASSWORD = 'correct horse battery'
/** As dear as it should be it would be most of the time of these tests. */
const HASHER = { random: systemRandom, atOnce: 2, maxWaiting: 16, cost: { N: 2 ** 8, r: 8, p: 1 } }
const HASHED = new PasswordHasher(HASHER).hash(PASSWORD)

/** What a test sends beside what the operation says. */
export interface Sent {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Of a session, as {@link ControlScene.logIn} gives it. */
  readonly as?: LoggedIn
  readonly headers?: Readonly<Record<string, string>>
}

/** JSON, and those of its members that tests look into. */
export interface AnswerBody {
  readonly [member: string]: unknown
  readonly code: string
  readonly detail: string
  readonly errors: readonly {
    readonly pointer?: string
    readonly parameter?: string
    readonly detail: string
  }[]
  readonly data: readonly AnswerBody[]
  readonly next_cursor: string | null
  readonly name: string
  readonly token: string
  readonly csrf_token: string
  readonly secret: string
  readonly revision: number
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  /** Undefined where it is no JSON. */
  readonly body: AnswerBody
}

/** The headers that a session is carried by. */
export interface LoggedIn {
  readonly headers: Readonly<Record<string, string>>
  readonly token: string
}

/** A control plane on port 0 over a real store, with one tenant of its own and one of others. */
export interface ControlScene {
  readonly url: string
  readonly store: Store
  /** The path of the file of the store, or the URL of its database, for those who write into it as another process would. */
  readonly storeAt: string
  /** All that stands in the store, as text. */
  readonly contents: () => Promise<string>
  readonly clock: ReturnType<typeof testClock>
  readonly log: readonly Record<string, unknown>[]
  /** What probes say from now on. */
  verdict: ProbeVerdict
  readonly probed: readonly ProbeOrder[]
  readonly addUser: (name: string, role: Role, tenant?: string) => Promise<void>
  readonly logIn: (name: string, carrier?: Carrier) => Promise<LoggedIn>
  /** An answer that the document does not have fails the test. */
  readonly call: (id: OperationId, sent?: Sent) => Promise<Answered>
  /** The same by hand. */
  readonly send: (method: string, path: string, init?: RequestInit) => Promise<Answered>
}

export interface SceneOptions {
  readonly clock?: Clock & ReturnType<typeof testClock>
  readonly publicUrl?: URL
  readonly trustedProxies?: readonly string[]
  readonly hasher?: PasswordHasher
  /** In place of the verdict of the scene. */
  readonly probe?: EndpointContext['probe']
  /** What the gateway explains; by default there is none. */
  readonly explainHere?: ExplainHere
}

/** What a probe says. */
type ProbeVerdict =
  | { readonly ok: true; readonly latencyMs?: number }
  | { readonly ok: false; readonly latencyMs?: number; readonly cause: string; readonly hint: string }

/** The verdict about an endpoint as the row of its first model. */
function rowOf({ endpoint, models: [model = ''] }: ProbeOrder, verdict: ProbeVerdict): ProbeRow {
  const row = {
    endpoint: endpoint.name,
    protocol: 'openai',
    model,
    latencyMs: verdict.latencyMs ?? 0,
  } as const
  if (verdict.ok) return { ...row, state: 'ok', by: 'chat' }
  const { cause, hint } = verdict
  return { ...row, state: 'failed', diagnosis: { fault: 'secret', cause, hint } }
}

async function filesOf(path: string): Promise<string> {
  return ['', '-wal'].map(end => readFileSync(path + end, 'latin1')).join('')
}

async function rowsOf({ query }: TestDatabase): Promise<string> {
  const tables = await query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public'`,
  )
  const texts = tables.map(({ name }) => query<{ text: string }>(`select t::text as text from "${name}" t`))
  return JSON.stringify(await Promise.all(texts))
}

export async function controlScene(whenOver: WhenOver, options: SceneOptions = {}): Promise<ControlScene> {
  const clock = options.clock ?? testClock()
  const folder = tempDir(whenOver)
  const database = ON_POSTGRES ? await storeDatabase(whenOver) : undefined
  const url = database?.url ?? 'sqlite:gw.db'
  const store = await openStore(url, { mode: 'create', clock, folder: folder.path })
  const log: Record<string, unknown>[] = []
  const probed: ProbeOrder[] = []
  const hasher = options.hasher ?? new PasswordHasher(HASHER)
  const masterKey = MasterKey.of('sqlite:gw.db', folder.path, undefined)
  const scene = { verdict: { ok: true, latencyMs: 5 } as ProbeVerdict }
  const lent = {
    store,
    check: async () => [],
    probe: async (order: ProbeOrder, how: Parameters<EndpointContext['probe']>[1]) => {
      probed.push(order)
      return options.probe ? options.probe(order, how) : [rowOf(order, scene.verdict)]
    },
  }
  const listener = await startControl(
    { host: '127.0.0.1', port: 0 },
    {
      // Sockets have deadlines of their own, which the time of a test must not meet.
      clock,
      random: systemRandom,
      hasher,
      log: createLog(
        { write: line => void log.push(JSON.parse(line) as Record<string, unknown>) },
        { level: 'info', pretty: false, colour: false },
      ),
      health: async () => ({ httpStatus: 200, json: '{"status":"ok"}' }),
      ...lent,
      configurations: configurationsOn({
        store,
        clock,
        check: lent.check,
        readFile: async () => undefined,
        signal: new AbortController().signal,
        probe: async orders => (await Promise.all(orders.map(order => lent.probe(order, {})))).flat(),
      }),
      sealCredential: (secret, boundTo) =>
        sealCredential(secret, boundTo, { masterKey, random: systemRandom, clock }),
      endpointHealth: async () =>
        new Map([['declared', { state: 'healthy', since: '2026-01-15T12:00:00.000Z' }]]),
      gateways: {},
      nodeActivity: async () => ({ nodes: [], endpoints: [] }),
      explainHere: options.explainHere ?? (async () => undefined),
      signal: new AbortController().signal,
      publicUrl: options.publicUrl,
      trustedProxies: options.trustedProxies ?? [],
    },
  )
  whenOver(async () => {
    await listener.close(0)
    await store.close()
  })
  await put(
    store,
    { kind: 'tenant', name: 'acme', spec: canonical('tenant', {}), ...MINE },
    { kind: 'tenant', name: 'other', spec: canonical('tenant', {}), ...MINE },
  )

  const send = async (method: string, path: string, init: RequestInit = {}): Promise<Answered> => {
    const answer = await fetch(`${listener.url}${path}`, { redirect: 'manual', ...init, method })
    const text = await answer.text()
    const isJson = /json/.test(answer.headers.get('content-type') ?? '')
    return {
      status: answer.status,
      headers: answer.headers,
      body: (isJson ? JSON.parse(text) : undefined) as AnswerBody,
    }
  }
  const call = async (id: OperationId, sent: Sent = {}): Promise<Answered> => {
    const { method, path } = operation(id)
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(sent.params?.[name] ?? ''),
    )
    const query = sent.query ? `?${new URLSearchParams(sent.query).toString()}` : ''
    const answered = await send(method, `${API_PREFIX}${filled}${query}`, {
      headers: {
        ...(sent.body !== undefined && { 'content-type': 'application/json' }),
        ...sent.as?.headers,
        ...sent.headers,
      },
      ...(sent.body !== undefined && { body: JSON.stringify(sent.body) }),
    })
    expect(undocumented(id, answered)).toEqual([])
    return answered
  }
  return {
    url: listener.url,
    store,
    storeAt: database?.url ?? folder.at('gw.db'),
    contents: () => (database ? rowsOf(database) : filesOf(folder.at('gw.db'))),
    clock,
    log,
    probed,
    get verdict() {
      return scene.verdict
    },
    set verdict(verdict) {
      scene.verdict = verdict
    },
    async addUser(name, role, tenant) {
      const place = tenant === undefined ? {} : { tenant }
      await store.users.createUser({ name, role, ...place, passwordHash: await HASHED })
    },
    async logIn(name, carrier = 'bearer') {
      const answer = await call('log_in', {
        body: { username: name, password: PASSWORD, carrier },
        ...(carrier === 'cookie' && { headers: { 'sec-fetch-site': 'same-origin' } }),
      })
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
      if (carrier === 'bearer') {
        const token = answer.body.token
        return { token, headers: { authorization: `Bearer ${token}` } }
      }
      const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
      return {
        token: cookie.slice(cookie.indexOf('=') + 1),
        headers: {
          cookie,
          'content-type': 'application/json',
          'sec-fetch-site': 'same-origin',
          'x-csrf-token': answer.body.csrf_token,
        },
      }
    },
    call,
    send,
  }
}
