import { scryptSync } from 'node:crypto'
import { request } from 'node:http'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Call } from '../../src/admin/call.ts'
import { sessionHandlers } from '../../src/admin/handlers/session.ts'
import { sessionCookie } from '../../src/admin/session/credentials.ts'
import { LoginThrottle } from '../../src/admin/session/login-throttle.ts'
import { keyDigest } from '../../src/base/api-key.ts'
import { type Derivation, PasswordHasher } from '../../src/base/password.ts'
import { systemRandom } from '../../src/base/random.ts'
import { operationsOf } from '../../src/schema/api/permissions.ts'
import { Sessions } from '../../src/services/sessions.ts'
import { controlScene, PASSWORD, type SceneOptions } from './scene.ts'

const MINUTE_MS = 60_000

async function setUp(options: SceneOptions = {}) {
  const scene = await controlScene(onTestFinished, options)
  await scene.addUser('ada', 'admin')
  return scene
}

describe('a log-in', () => {
  test('gives a script a token, and a browser nothing', async () => {
    const { call, clock } = await setUp()
    const answer = await call('log_in', { body: { username: 'ada', password: PASSWORD } })
    const nowMs = clock.nowMs()
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        user: { name: 'ada', role: 'admin' },
        may: operationsOf('admin'),
        carrier: 'bearer',
        token: expect.stringMatching(/^gws_[\w-]{43}$/),
        created_at: new Date(nowMs).toISOString(),
        idle_expires_at: new Date(nowMs + 30 * MINUTE_MS).toISOString(),
        expires_at: new Date(nowMs + 12 * 60 * MINUTE_MS).toISOString(),
      },
    ])
    expect(answer.headers.get('set-cookie')).toBeNull()
  })

  test('gives a browser a cookie that no script of a page can read, and no token', async () => {
    const { call } = await setUp()
    const answer = await call('log_in', {
      body: { username: 'ada', password: PASSWORD, carrier: 'cookie' },
      headers: { 'sec-fetch-site': 'same-origin' },
    })
    expect(answer.status).toBe(201)
    expect(answer.body).not.toHaveProperty('token')
    expect(answer.headers.get('set-cookie')).toMatch(
      /^gw_session=gws_[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict, gw_device=[\w-]{43}; Max-Age=31536000; Path=\/; HttpOnly; SameSite=Strict$/,
    )
  })

  test('behind TLS binds the cookie to the very host', async () => {
    const { call } = await setUp({ publicUrl: new URL('https://gw.example.com') })
    const answer = await call('log_in', {
      body: { username: 'ada', password: PASSWORD, carrier: 'cookie' },
      headers: { origin: 'https://gw.example.com' },
    })
    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-gw_session=gws_.*; Secure, __Host-gw_device=[\w-]{43}; .*; Secure$/,
    )
  })

  test('answers the same to a wrong password, an unknown name, a disabled user and a name that is none', async () => {
    const { call, addUser, store } = await setUp()
    await addUser('bob', 'admin')
    await store.users.changeUser('bob', { enabled: false })
    const answers = await Promise.all(
      [
        { username: 'ada', password: 'wrong' },
        { username: 'absent', password: PASSWORD },
        { username: 'bob', password: PASSWORD },
        { username: 'ADA', password: PASSWORD },
      ].map(body => call('log_in', { body })),
    )
    for (const { status, body, headers } of answers) {
      const { request_id: _id, ...shown } = body
      expect([status, shown]).toEqual([
        401,
        {
          type: 'urn:gw:problem:wrong_credentials',
          title: 'The name or the password is wrong.',
          status: 401,
          code: 'wrong_credentials',
          detail: 'The name or the password is wrong.',
          hint: expect.any(String),
        },
      ])
      expect(headers.get('set-cookie')).toBeNull()
    }
  })

  test('is a new session each time, and each is ended by itself', async () => {
    const { call, logIn } = await setUp()
    const [first, second] = [await logIn('ada'), await logIn('ada')]
    expect(first.token).not.toBe(second.token)
    expect((await call('log_out', { as: first })).status).toBe(204)
    expect((await call('get_session', { as: first })).status).toBe(401)
    expect((await call('get_session', { as: second })).status).toBe(200)
  })

  test('takes no token from a log-in, and ends the session that its browser had', async () => {
    const { call, logIn, addUser } = await setUp()
    await addUser('eve', 'admin')
    const planted = `gws_${'A'.repeat(43)}`
    const eve = await logIn('eve', 'cookie')
    for (const cookie of [`gw_session=${planted}`, eve.headers['cookie'] ?? '']) {
      const headers = { cookie, 'sec-fetch-site': 'same-origin' }
      const body = { username: 'ada', password: PASSWORD, carrier: 'cookie' }
      const answer = await call('log_in', { body, headers })
      const given = /gw_session=([^;]+)/.exec(answer.headers.get('set-cookie') ?? '')?.[1]
      expect(given).toMatch(/^gws_/)
      expect([planted, eve.token]).not.toContain(given)
    }
    expect((await call('get_session', { headers: { cookie: `gw_session=${planted}` } })).status).toBe(401)
    expect((await call('get_session', { as: eve })).status).toBe(401)
  })

  test('of another site’s page is rejected: it would log its visitor in as another user', async () => {
    const { call } = await setUp()
    const body = { username: 'ada', password: PASSWORD, carrier: 'cookie' }
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, {}]) {
      expect(await call('log_in', { body, headers })).toMatchObject({
        status: 403,
        body: { code: 'cross_site' },
      })
    }
  })
})

describe('a session', () => {
  test('is stored by its hash alone', async () => {
    const { logIn, store } = await setUp()
    const { token } = await logIn('ada')
    expect(await store.users.session(token)).toBeUndefined()
  })

  test('ends after half an hour without a request, and goes on with one', async () => {
    const { call, logIn, clock } = await setUp()
    const as = await logIn('ada')
    for (let times = 1; times <= 3; times++) {
      clock.advance(29 * MINUTE_MS)
      expect((await call('get_session', { as })).status).toBe(200)
    }
    clock.advance(30 * MINUTE_MS)
    expect(await call('get_session', { as })).toMatchObject({ status: 401, body: { code: 'not_logged_in' } })
  })

  test('is not prolonged by an open page without input', async () => {
    const { call, logIn, clock } = await setUp()
    const as = await logIn('ada')
    const headers = { 'x-unattended': 'true' }
    clock.advance(20 * MINUTE_MS)
    expect((await call('get_session', { as, headers })).status).toBe(200)
    clock.advance(10 * MINUTE_MS)
    expect((await call('get_session', { as, headers })).status).toBe(401)
  })

  test('stays when a program logs in beside it, whatever cookies it sends', async () => {
    const { call, logIn } = await setUp()
    const as = await logIn('ada', 'cookie')
    const body = { username: 'ada', password: PASSWORD, carrier: 'bearer' }
    expect((await call('log_in', { body, headers: { cookie: as.headers['cookie'] ?? '' } })).status).toBe(201)
    expect((await call('get_session', { as })).status).toBe(200)
  })

  test('ends after twelve hours whatever happens', async () => {
    const { call, logIn, clock } = await setUp()
    const as = await logIn('ada')
    for (let times = 1; times < 36; times++) {
      clock.advance(20 * MINUTE_MS)
      expect((await call('get_session', { as })).status).toBe(200)
    }
    clock.advance(20 * MINUTE_MS)
    expect((await call('get_session', { as })).status).toBe(401)
  })

  test('ends with all others of its user on a log-out everywhere, a new password and a disabling', async () => {
    const { call, logIn, store, addUser } = await setUp()
    await addUser('bob', 'admin')
    const bob = await logIn('bob')
    for (const end of [
      async () => call('log_out_everywhere', { as: await logIn('ada') }),
      async () => call('end_user_sessions', { as: bob, params: { name: 'ada' } }),
      async () =>
        call('change_password', {
          as: await logIn('ada'),
          body: { current_password: PASSWORD, new_password: PASSWORD },
        }),
      async () => call('reset_password', { as: bob, params: { name: 'ada' }, body: { password: PASSWORD } }),
    ]) {
      const as = await logIn('ada')
      expect((await end()).status).toBe(204)
      expect((await call('get_session', { as })).status).toBe(401)
    }
    const as = await logIn('ada')
    await store.users.changeUser('ada', { enabled: false })
    expect((await call('get_session', { as })).status).toBe(401)
    expect((await call('get_session', { as: bob })).status).toBe(200)
  })

  test('lets its password be changed only by who knows it', async () => {
    const { call, logIn } = await setUp()
    const as = await logIn('ada')
    const body = { current_password: 'wrong', new_password: 'another horse' }
    expect(await call('change_password', { as, body })).toMatchObject({
      status: 401,
      body: { code: 'wrong_credentials' },
    })
    expect((await call('get_session', { as })).status).toBe(200)
  })
})

describe('a change by cookie', () => {
  const tenant = { name: 'new' }

  test('needs JSON, the same site and the token of its session', async () => {
    const { call, logIn, url } = await setUp()
    const as = await logIn('ada', 'cookie')
    const change = (headers: Record<string, string>) => call('create_tenant', { as, body: tenant, headers })
    for (const headers of [
      { 'content-type': 'text/plain' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: url.replace('http:', 'https:') },
      { origin: `${url}.evil.example` },
      { 'x-csrf-token': '' },
      { 'x-csrf-token': (await logIn('ada', 'cookie')).headers['x-csrf-token'] ?? '' },
    ]) {
      expect(await change(headers), JSON.stringify(headers)).toMatchObject({
        status: 403,
        body: { code: 'cross_site' },
      })
    }
    expect((await change({})).status).toBe(201)
  })

  test('shows where it comes from by its origin where the browser sends no fetch metadata', async () => {
    const { call, logIn, url } = await setUp()
    const { headers } = await logIn('ada', 'cookie')
    const { 'sec-fetch-site': _site, ...rest } = headers
    const as = { token: '', headers: rest }
    expect((await call('create_tenant', { as, body: tenant })).status).toBe(403)
    const origin = new URL(url).origin
    expect((await call('create_tenant', { as, body: tenant, headers: { origin } })).status).toBe(201)
  })

  test('that has no body needs all of it, too; a look does not', async () => {
    const { call, logIn } = await setUp()
    const { headers } = await logIn('ada', 'cookie')
    const as = { token: '', headers: { cookie: headers['cookie'] ?? '' } }
    expect((await call('get_session', { as })).status).toBe(200)
    expect(await call('log_out', { as })).toMatchObject({ status: 403, body: { code: 'cross_site' } })
  })

  test('by bearer needs none of it: no browser sends one along by itself', async () => {
    const { call, logIn } = await setUp()
    const as = await logIn('ada')
    const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    expect((await call('create_tenant', { as, body: tenant, headers })).status).toBe(201)
  })
})

describe('of several credentials', () => {
  test('the bearer alone counts, also where it is wrong and the cookie is right', async () => {
    const { call, logIn } = await setUp()
    const [cookie, bearer] = [await logIn('ada', 'cookie'), await logIn('ada')]
    const look = (authorization: string) =>
      call('get_session', { headers: { cookie: cookie.headers['cookie'] ?? '', authorization } })
    expect(await look(`Bearer ${bearer.token}`)).toMatchObject({ status: 200, body: { carrier: 'bearer' } })
    expect((await look('Bearer gws_wrong')).status).toBe(401)
    expect((await look('Basic YWRhOng=')).status).toBe(401)
  })

  test('two cookies of the name are one too many', async () => {
    const { call, logIn } = await setUp()
    const { headers } = await logIn('ada', 'cookie')
    const twice = { cookie: `${headers['cookie']}; gw_session=gws_x` }
    expect((await call('get_session', { headers: twice })).status).toBe(401)
  })
})

describe('sessions that are over', () => {
  test('are cleared away by a log-in, once a minute at most', async () => {
    const { store, clock, logIn } = await setUp()
    const clearing = vi.spyOn(store.users, 'pruneSessions')
    await logIn('ada')
    await logIn('ada')
    expect(clearing).toHaveBeenCalledTimes(1)
    clock.advance(MINUTE_MS)
    await logIn('ada')
    expect(clearing).toHaveBeenCalledTimes(2)
  })
})

describe('many log-ins at once', () => {
  test('is sent away beyond the line, which the log tells as no failure of ours', async () => {
    let open: () => void = () => {}
    const gate = new Promise<void>(resolve => {
      open = resolve
    })
    const derive = ({ lengthBytes }: Derivation) => gate.then(() => Buffer.alloc(lengthBytes))
    const hasher = new PasswordHasher({ random: systemRandom, atOnce: 1, maxWaiting: 1, derive })
    const { call, clock, log } = await setUp({ hasher })
    const before = clock.pending
    const asked = Array.from({ length: 5 }, (_, index) =>
      call('log_in', { body: { username: `unknown-${index}`, password: 'wrong' } }),
    )
    // One is hashed and one waits in line: the three others are answered late, and by no time that passes by itself.
    await clock.waiting(before + 3)
    clock.advance(2_000)
    open()
    const answers = await Promise.all(asked)
    expect(answers.filter(({ status }) => status === 503)).toHaveLength(3)
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(2)
    const shown = log.filter(line => line['error_code'] === 'busy')
    expect(shown.map(line => line['level'])).toEqual(['info', 'info', 'info'])
  })
})

describe('log-ins that are under way with a password', () => {
  test.each([
    ['is reset', 'reset_password', { params: { name: 'ada' }, body: { password: 'another horse' } }],
    ['is no longer good for anything', 'update_user', { params: { name: 'ada' }, body: { enabled: false } }],
    [
      'is changed by its owner',
      'change_password',
      { body: { current_password: PASSWORD, new_password: 'another horse' } },
    ],
  ] as const)('open no session where it %s meanwhile', async (_, id, sent) => {
    const gates: (() => void)[] = []
    let isShut = false
    const derive = async ({ password, salt, lengthBytes, options }: Derivation) => {
      if (isShut) await new Promise<void>(resolve => gates.push(resolve))
      return scryptSync(password, salt, lengthBytes, options)
    }
    const cost = { N: 2 ** 8, r: 8, p: 1 }
    const hasher = new PasswordHasher({ random: systemRandom, atOnce: 8, maxWaiting: 16, derive, cost })
    const { call, logIn, addUser, store } = await setUp({ hasher })
    await addUser('root', 'admin')
    const as = await logIn(id === 'change_password' ? 'ada' : 'root')
    isShut = true
    const body = { username: 'ada', password: PASSWORD }
    const running = Array.from({ length: 2 }, () => call('log_in', { body }))
    await vi.waitFor(() => expect(gates).toHaveLength(2))
    isShut = false
    expect((await call(id, { as, ...sent, headers: { 'if-match': '*' } })).status).toBeLessThan(300)
    for (const open of gates) open()
    for (const { status, body: shown } of await Promise.all(running)) {
      expect([status, shown.code]).toEqual([401, 'wrong_credentials'])
    }
    expect(await store.users.user('ada')).toMatchObject({ sessions: 0 })
  })
})

test('right log-ins of one user at once leave room for others', async () => {
  const gates: (() => void)[] = []
  let hashed = 0
  let isOpen = false
  const derive = async ({ password, salt, lengthBytes, options }: Derivation) => {
    hashed++
    if (!isOpen) await new Promise<void>(resolve => gates.push(resolve))
    return scryptSync(password, salt, lengthBytes, options)
  }
  const cost = { N: 2 ** 8, r: 8, p: 1 }
  const quick = new PasswordHasher({ random: systemRandom, atOnce: 1, maxWaiting: 16, cost })
  const hasher = new PasswordHasher({ random: systemRandom, atOnce: 1, maxWaiting: 16, derive, cost })
  const { call, clock, store } = await setUp({ hasher })
  const passwordHash = await quick.hash(PASSWORD)
  await store.users.createUser({ name: 'root', role: 'admin', passwordHash })
  const logIn = (username: string) => call('log_in', { body: { username, password: PASSWORD } })
  const before = clock.pending
  const flood = Array.from({ length: 24 }, () => logIn('ada'))
  // Three may be under way: the others are rejected, and answered late.
  await clock.waiting(before + 21)
  const other = logIn('root')
  isOpen = true
  for (const open of gates) open()
  expect((await other).status).toBe(201)
  clock.advance(MINUTE_MS)
  expect((await Promise.all(flood)).filter(({ status }) => status === 201)).toHaveLength(3)
  expect(hashed).toBe(4)
})

describe('a log-in whose client has left', () => {
  test('is not looked at when its turn comes', async () => {
    const { store, clock } = await setUp()
    let hashed = 0
    const derive = async ({ lengthBytes }: Derivation) => {
      hashed++
      return Buffer.alloc(lengthBytes)
    }
    const hasher = new PasswordHasher({ random: systemRandom, atOnce: 1, maxWaiting: 16, derive })
    const sessions = new Sessions({ users: store.users, clock, random: systemRandom })
    const loginLimit = new LoginThrottle(clock)
    const handlers = sessionHandlers({
      sessions,
      loginLimit,
      hasher,
      cookie: sessionCookie(undefined),
      clock,
    })
    const context = { store }
    const logIn = (hasLeft: boolean) => {
      const body = { username: 'ada', password: PASSWORD, carrier: 'bearer' }
      return handlers.log_in({ body, context, address: 'a', hasLeft: () => hasLeft } as Call<'log_in'>)
    }

    await expect(logIn(true)).rejects.toMatchObject({ code: 'bad_request' })
    expect(hashed).toBe(0)
    await expect(logIn(false)).rejects.toMatchObject({ code: 'wrong_credentials' })
    expect(hashed).toBe(1)
  })
})

describe('guessing', () => {
  test('is slowed down after five failures, by no more than half a minute, and forgotten by a success', async () => {
    const { call, clock, logIn } = await setUp()
    const guess = (password: string) => call('log_in', { body: { username: 'ada', password } })
    for (let times = 1; times <= 5; times++) expect((await guess('wrong')).status).toBe(401)
    const waiting = clock.pending
    const rejection = guess(PASSWORD)
    // A client that does not heed the pause is answered late.
    await clock.waiting(waiting + 1)
    clock.advance(3_000)
    const rejected = await rejection
    expect([rejected.status, rejected.body.code, rejected.headers.get('retry-after')]).toEqual([
      429,
      'too_many_attempts',
      '1',
    ])
    expect((await guess('wrong')).status).toBe(401)
    clock.advance(30_000)
    await logIn('ada')
    expect((await guess('wrong')).status).toBe(401)
  })

  test('side by side gains nothing, and does not shut out who logs in from elsewhere', async () => {
    const { call, clock, url } = await setUp()
    const wrong = { username: 'ada', password: 'wrong' }
    const waiting = clock.pending
    const asked = Array.from({ length: 60 }, () => call('log_in', { body: wrong }))
    // Five are free, and some may be at work while the fifth is answered: time stands still until the others are rejected.
    await clock.waiting(waiting + 52)
    const hurry = setInterval(() => clock.advance(500), 5)
    onTestFinished(() => clearInterval(hurry))
    const guesses = await Promise.all(asked)
    expect(guesses.filter(({ status }) => status === 401).length).toBeGreaterThanOrEqual(5)
    for (const { status, headers } of guesses) {
      if (status === 401) continue
      expect([429, 503]).toContain(status)
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    }
    const right = JSON.stringify({ username: 'ada', password: PASSWORD })
    expect(await postFrom('127.0.0.2', `${url}/api/v1/session`, right)).toBe(201)
  })
})

describe('who has logged in before', () => {
  async function guessed(scene: Awaited<ReturnType<typeof setUp>>) {
    const { call, clock } = scene
    const wrong = { username: 'ada', password: 'wrong' }
    for (let times = 0; times < 6; times++) {
      const waiting = clock.pending
      const guess = call('log_in', { body: wrong })
      if (times < 5) expect((await guess).status).toBe(401)
      else {
        await clock.waiting(waiting + 1)
        clock.advance(500)
        clock.advance(1_500)
        expect((await guess).status).toBe(429)
      }
    }
  }

  test('with the same browser gets in while another client guesses from the same address', async () => {
    const scene = await setUp()
    const { call } = scene
    const body = { username: 'ada', password: PASSWORD, carrier: 'cookie' }
    const headers = { 'sec-fetch-site': 'same-origin' }
    const first = await call('log_in', { body, headers })
    const device = /gw_device=[\w-]{43}/.exec(first.headers.get('set-cookie') ?? '')?.[0] ?? ''
    await guessed(scene)
    await call('log_in', { body: { username: 'ada', password: 'wrong' } })
    const cookie = { ...headers, cookie: device }
    expect((await call('log_in', { body, headers: cookie })).status).toBe(201)
    // It opens nothing by itself.
    expect((await call('get_session', { headers: cookie })).status).toBe(401)
  })

  test('is known after a restart, by address and by device, until the password is new', async () => {
    const { call, store } = await setUp()
    const body = { username: 'ada', password: PASSWORD, carrier: 'cookie' }
    const answer = await call('log_in', { body, headers: { 'sec-fetch-site': 'same-origin' } })
    const device = /gw_device=([\w-]{43})/.exec(answer.headers.get('set-cookie') ?? '')?.[1] ?? ''
    const flags = ['network 127.0.0.1', `device ${keyDigest(device)}`, 'network 192.0.2.1']
    expect([...(await store.users.knownOrigins('ada', flags))].sort()).toEqual(flags.slice(0, 2).sort())
    expect([...(await store.users.knownOrigins('absent', flags))]).toEqual([])
    await store.users.setPassword('ada', 'another')
    expect([...(await store.users.knownOrigins('ada', flags))]).toEqual(['network 127.0.0.1'])
  })
})

/** The status of an answer to a client at another address of this machine. */
function postFrom(localAddress: string, url: string, body: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    request(url, { method: 'POST', localAddress, headers }, answer => {
      answer.resume()
      resolve(answer.statusCode)
    })
      .on('error', reject)
      .end(body)
  })
}
