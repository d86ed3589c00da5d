import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { modelName, name as resourceName } from '../../src/schema/scalars.ts'
import { undocumented } from './documented.ts'
import { type Answered, controlScene, type LoggedIn } from './scene.ts'

const control = await controlScene(afterAll)
const { call, send } = control
let as: LoggedIn

beforeAll(async () => {
  await control.addUser('ada', 'admin')
  as = await control.logIn('ada')
})

/** Half a surrogate has no bytes in UTF-8. */
const wellFormed = (text: string) => Buffer.from(text).toString()

const pointers = ({ status, body }: Answered) => [
  status,
  body.errors?.map(({ pointer, parameter }) => pointer ?? parameter),
]

describe('text that no store can hold', () => {
  test.each(['a\u0000b', 'a\ud800b', 'a\udc00b'])('%j is rejected in a body, by its place', async text => {
    const body = { name: 'k', kind: 'platform', display_name: text }
    expect(pointers(await call('create_key', { as, body }))).toEqual([422, ['/display_name']])
    const labels = {
      name: 'e',
      protocol: 'openai',
      base_url: 'http://127.0.0.1:9/v1',
      labels: { [text]: 'x' },
    }
    expect((await call('create_endpoint', { as, body: labels })).status).toBe(422)
    expect((await call('log_in', { body: { username: text, password: 'x' } })).status).toBe(422)
  })

  test('NUL is rejected in a query, in a cursor and in a path', async () => {
    expect(pointers(await call('list_keys', { as, query: { q: '\0' } }))).toEqual([422, ['q']])
    expect(pointers(await call('list_keys', { as, query: { cursor: 'AA' } }))).toEqual([422, ['cursor']])
    expect((await send('GET', '/api/v1/keys/%00', { headers: as.headers })).status).toBe(404)
  })
})

describe('a public model name', () => {
  test.each([
    'openai/gpt-4o:latest',
    'a//b',
    '/leading',
    'per%cent%2F',
    'q?u#e&r=y',
    'semi;colon',
    'back\\slash',
    '"quoted"',
    "o'hara",
    '<b>bold</b>',
    'constructor',
    'größe',
    '模型/大',
    '🦙'.repeat(256),
    'x'.repeat(256),
    '...',
    '*',
  ])('%s is created, shown, bound, changed and deleted by one path of its own', async name => {
    const params = { name }
    const made = await call('create_publication', { as, body: { name } })
    expect([made.status, made.body.name]).toEqual([201, name])
    expect((await call('get_publication', { as, params })).body.name).toBe(name)
    const headers = { 'if-match': made.headers.get('etag') ?? '' }
    expect((await call('update_publication', { as, params, headers, body: { owned_by: 'x' } })).status).toBe(
      200,
    )
    const endpoint = { name: 'e', protocol: 'openai', base_url: 'http://127.0.0.1:9', served_model: 'm' }
    await call('create_endpoint', { as, body: endpoint })
    const both = { publication: name, endpoint: 'e' }
    expect((await call('create_binding', { as, body: both })).status).toBe(201)
    expect((await call('get_binding', { as, params: both })).body).toMatchObject(both)
    expect((await call('list_bindings', { as, query: { publication: name } })).body.data).toHaveLength(1)
    expect((await call('delete_publication', { as, params })).body.code).toBe('in_use')
    expect((await call('delete_binding', { as, params: both })).status).toBe(200)
    expect((await call('delete_publication', { as, params })).status).toBe(200)
    expect((await call('get_publication', { as, params })).status).toBe(404)
  })

  test.each([
    '',
    ' ',
    'a b',
    'a\tb',
    'a\nb',
    'a\u0000b',
    'a\u00a0b',
    'a\u202eb',
    'a\ud800b',
    '\ufeffa',
    '__proto__',
    // Every client takes these out of a path, so nothing could be reached by them.
    '.',
    '..',
    'x'.repeat(257),
  ])('%j is none', async name => {
    expect(pointers(await call('create_publication', { as, body: { name } }))).toEqual([422, ['/name']])
    const path = `/api/v1/publications/${encodeURIComponent(wellFormed(name))}`
    expect((await control.send('GET', path, { headers: as.headers })).status).not.toBe(500)
  })
})

test('a name of an endpoint, a tenant or a key may hold slashes and colons, and nothing that a header could not', async () => {
  for (const name of ['eu/west:1', 'a@b', 'x'.repeat(128)]) {
    expect((await call('create_tenant', { as, body: { name } })).status).toBe(201)
    expect((await call('get_tenant', { as, params: { name } })).body.name).toBe(name)
    expect((await call('get_wallet', { as, params: { name } })).status).toBe(200)
  }
  for (const name of ['', '/a', '-a', 'a b', 'ä', 'a\n', 'x'.repeat(129)]) {
    expect(pointers(await call('create_tenant', { as, body: { name } }))).toEqual([422, ['/name']])
  }
})

test('whatever text is asked for by a path, it is a name that is there or a 404', {
  timeout: 60_000,
}, async () => {
  const text = fc.string({ unit: 'binary', maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(text, async name => {
      const path = encodeURIComponent(wellFormed(name))
      const { status } = await control.send('GET', `/api/v1/publications/${path}`, { headers: as.headers })
      // `.`, `..` and nothing name another path.
      expect(name === '' || /^\.{1,2}$/.test(name) || status === 404).toBe(true)
    }),
    { numRuns: 200 },
  )
  expect([modelName.safeParse('.').success, resourceName.safeParse('..').success]).toEqual([false, false])
})

describe('an amount of money', () => {
  const credit = (amount: unknown, reference = `r ${Math.random()}`) =>
    call('credit_wallet', { as, params: { name: 'acme' }, body: { amount, reference } })

  test.each([
    -1,
    0,
    '0',
    '-0',
    '-1',
    '+1',
    '1e3',
    1e21,
    1e-10,
    '0.0000000001',
    '1,5',
    ' 1',
    '1 ',
    '',
    'NaN',
    'Infinity',
    '0x10',
    '١',
    '9223372036.854775808',
    '1000000000001',
    '9'.repeat(1_000),
    true,
    null,
    [1],
    { a: 1 },
    1.234_567_890_123_456_7,
  ])('%j is rejected, and nothing is booked', async amount => {
    const before = await control.store.accounting.walletEntries('acme')
    expect(pointers(await credit(amount))).toEqual([422, ['/amount']])
    expect(await control.store.accounting.walletEntries('acme')).toEqual(before)
  })

  test('is booked once for each reference, also where it is sent twice at once', async () => {
    const both = await Promise.all([credit('5', 'inv'), credit('5.0', 'inv')])
    expect(both.map(({ status }) => status)).toEqual([200, 200])
    expect(both.filter(({ body }) => body['booked'] === true)).toHaveLength(1)
    expect((await call('get_wallet', { as, params: { name: 'acme' } })).body).toMatchObject({ balance: '5' })
    expect(await credit('6', 'inv')).toMatchObject({ status: 409, body: { code: 'reference_taken' } })
    const debit = { as, params: { name: 'acme' }, body: { amount: '5', reference: 'inv' } }
    expect(await call('debit_wallet', debit)).toMatchObject({
      status: 409,
      body: { code: 'reference_taken' },
    })
  })

  test('is exact up to the largest', async () => {
    const params = { name: 'other' }
    for (const reference of ['a', 'b', 'c']) {
      const body = { amount: '9223372036.854775807', reference }
      const answered = await call('credit_wallet', { as, params, body })
      expect(answered.status, JSON.stringify(answered.body)).toBe(200)
    }
    expect((await call('get_wallet', { as, params })).body).toMatchObject({
      balance: '27670116110.564327421',
    })
  })

  test.each(['', 'two\nlines', '\u0000', 'x'.repeat(257)])(
    'with the reference %j is rejected',
    async reference => {
      expect(pointers(await credit('1', reference))).toEqual([422, ['/reference']])
    },
  )
})

test.each([{ rpm: 0 }, { rpm: -1 }, { rpm: 1.5 }, { rpm: '5' }, { rpm: 1e300 }, { tpm: 2 ** 60 }])(
  'the limit %j is rejected',
  async limits => {
    const [status, [pointer]] = pointers(
      await call('create_tenant', { as, body: { name: 'l', limits } }),
    ) as [number, string[]]
    expect([status, pointer]).toEqual([422, `/limits/${Object.keys(limits)[0]}`])
  },
)

test.each([
  'tomorrow',
  '2026-01-01',
  '2026-01-01T00:00:00',
  '2026-02-30T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-01-01T25:00:00Z',
  '+010000-01-01T00:00:00Z',
  '9999-12-31T23:59:59-01:00',
  1_767_225_600,
])('the time %j is rejected, in a body and in a query', async time => {
  const body = { name: 'k', kind: 'platform', expires_at: time }
  expect(pointers(await call('create_key', { as, body }))).toEqual([422, ['/expires_at']])
  const query = { by: 'day', since: String(time) }
  expect(pointers(await call('get_usage', { as, query }))).toEqual([422, ['since']])
})

test.each([
  { since: '0001-01-01T00:00:00Z', until: '9999-12-31T23:59:59Z' },
  { since: '2026-01-01T00:00:00Z', until: '2026-01-01T00:00:00Z' },
])('the time from $since to $until is answered', async query => {
  const answered = await call('get_usage', { as, query: { by: 'day', ...query } })
  expect([answered.status, undocumented('get_usage', answered)]).toEqual([200, []])
})

test.each([
  'http://169.254.169.254/latest',
  'http://[fe80::1]/v1',
  'http://[::ffff:169.254.169.254]/v1',
  'http://[::ffff:a9fe:a9fe]/v1',
  'http://2852039166/v1', // 169.254.169.254 in one number
  'http://0xa9fea9fe/v1',
  'http://169.254.43518/v1',
  'http://169.254.169.254./v1',
  'http://user:password@example.com/v1',
  'http://user@example.com/v1',
  'http://example.com/v1?x=1',
  'http://example.com/v1#x',
  'ftp://example.com/v1',
  'file:///etc/passwd',
  'javascript:alert(1)',
  '//example.com/v1',
  'example.com/v1',
  'http://',
  'http://a b/',
])('the upstream %s is rejected, and no server is asked', async base_url => {
  const before = control.probed.length
  const body = { name: 'u', protocol: 'openai', base_url, served_model: 'm' }
  expect(pointers(await call('create_endpoint', { as, body }))).toEqual([422, ['/base_url']])
  expect(control.probed.length).toBe(before)
})

test('the upstream of a very long address is rejected', async () => {
  const base_url = `http://example.com/${'x'.repeat(3_000)}`
  const body = { name: 'u', protocol: 'openai', base_url, served_model: 'm' }
  expect(pointers(await call('create_endpoint', { as, body }))).toEqual([422, ['/base_url']])
})

describe('a cursor', () => {
  test.each(['x', '====', 'YQ==', 'YQ', '0', '-1', 'Infinity', 'x'.repeat(1_024), '\u0000', '🦙'])(
    'such as %j was never given out, and leads nowhere',
    async cursor => {
      for (const id of ['list_audit', 'list_revisions', 'list_calls'] as const) {
        expect(pointers(await call(id, { as, query: { cursor } })), id).toEqual([422, ['cursor']])
      }
      expect([200, 422]).toContain((await call('list_tenants', { as, query: { cursor } })).status)
    },
  )

  test('that is too long, given twice or unknown is rejected', async () => {
    expect(pointers(await call('list_tenants', { as, query: { cursor: 'x'.repeat(1_025) } }))).toEqual([
      422,
      ['cursor'],
    ])
    const send = (query: string) => control.send('GET', `/api/v1/tenants?${query}`, { headers: as.headers })
    expect(pointers(await send('cursor=YQ&cursor=YQ'))).toEqual([422, ['cursor']])
    expect(pointers(await send('cursr=YQ'))).toEqual([422, ['cursr']])
    expect(pointers(await send('__proto__=1&constructor=1'))).toEqual([422, ['__proto__', 'constructor']])
    for (const limit of ['0', '-1', '501', '1.5', '1e2', 'x', ' 1', '0x1']) {
      expect(pointers(await send(`limit=${encodeURIComponent(limit)}`)), limit).toEqual([422, ['limit']])
    }
  })

  test('leads through every page, whatever is made or goes meanwhile', async () => {
    const names = Array.from({ length: 7 }, (_, index) => `page/${index}`)
    for (const name of names) await call('create_tenant', { as, body: { name } })
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const query: Record<string, string> = { limit: '2', ...(cursor !== null && { cursor }) }
      const page: Answered = await call('list_tenants', { as, query })
      expect(page.body.data.length).toBeLessThanOrEqual(2)
      seen.push(...page.body.data.map(({ name }) => name))
      if (cursor === null) await call('delete_tenant', { as, params: { name: 'page/3' } })
      cursor = page.body.next_cursor
    } while (cursor !== null)
    expect(seen.filter(name => name.startsWith('page/'))).toEqual(names.filter(name => name !== 'page/3'))
    expect(new Set(seen).size).toBe(seen.length)
  })
})

describe('what a change starts from', () => {
  const patch = (headers: Record<string, string>, body = { display_name: `x ${Math.random()}` }) =>
    call('update_tenant', { as, params: { name: 'versioned' }, headers, body })

  test('must be said, must be what stands, and may be whatever stands', async () => {
    const first = await call('create_tenant', { as, body: { name: 'versioned' } })
    const etag = first.headers.get('etag') ?? ''
    expect(await patch({})).toMatchObject({ status: 428, body: { code: 'precondition_required' } })
    const changed = await patch({ 'if-match': etag })
    expect(changed.status).toBe(200)
    expect(changed.headers.get('etag')).not.toBe(etag)
    for (const stale of [etag, '"999999"', '"0"', 'W/"1"', '1', '""', `${etag}, "1"`, 'x', '"1e3"', '*, *'])
      expect(await patch({ 'if-match': stale }), stale).toMatchObject({
        status: 412,
        body: { code: 'changed_meanwhile' },
      })
    expect((await patch({ 'if-match': '*' })).status).toBe(200)
  })

  test('is heeded by a deletion, too, where it is said', async () => {
    const made = await call('create_tenant', { as, body: { name: 'short-lived' } })
    const gone = { as, params: { name: 'short-lived' } }
    expect((await call('delete_tenant', { ...gone, headers: { 'if-match': '"1"' } })).status).toBe(412)
    const headers = { 'if-match': made.headers.get('etag') ?? '' }
    expect((await call('delete_tenant', { ...gone, headers })).status).toBe(200)
  })

  test('lets one of two changes through that start from the same', async () => {
    const made = await call('create_tenant', { as, body: { name: 'raced' } })
    const headers = { 'if-match': made.headers.get('etag') ?? '' }
    const statuses = await Promise.all(
      ['a', 'b', 'c'].map(async display_name => {
        const sent = { as, params: { name: 'raced' }, headers, body: { display_name } }
        return (await call('update_tenant', sent)).status
      }),
    )
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 412, 412])
  })

  test('is the version of a user, too', async () => {
    await control.addUser('bob', 'admin')
    const shown = await call('get_user', { as, params: { name: 'bob' } })
    const change = (version: string, body: unknown) =>
      call('update_user', { as, params: { name: 'bob' }, headers: { 'if-match': version }, body })
    const etag = shown.headers.get('etag') ?? ''
    expect((await change(etag, { role: 'tenant', tenant: 'acme' })).status).toBe(200)
    expect((await change(etag, { role: 'admin', tenant: null })).status).toBe(412)
    expect(pointers(await change('*', { tenant: null }))).toEqual([422, ['/tenant']])
    expect(pointers(await change('*', { role: 'admin' }))).toEqual([422, ['/tenant']])
    expect(pointers(await change('*', { tenant: 'none' }))).toEqual([422, ['/tenant']])
  })
})
