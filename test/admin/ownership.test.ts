import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { OPERATION_IDS, type OperationId, operation } from '../../src/schema/api/operations.ts'
import { canonical, endpoint, key, put } from '../store/samples.ts'
import { tempDir } from '../support/temp-dir.ts'
import { type WholeGateway, wholeGateway } from '../support/whole-gateway.ts'
import { controlScene, type LoggedIn, PASSWORD, type Sent } from './scene.ts'

const control = await controlScene(afterAll)

describe('what a file declares', () => {
  const FILE = 'config/all.yaml'
  /** One of each kind, each on a line of its own. */
  const DECLARED = {
    endpoint: { params: { name: 'e' }, line: 11 },
    publication: { params: { name: 'openai/m' }, line: 12 },
    binding: { params: { publication: 'openai/m', endpoint: 'e' }, line: 13 },
    tenant: { params: { name: 't' }, line: 14 },
    key: { params: { name: 'k' }, line: 15 },
  } as const
  type Kind = keyof typeof DECLARED

  /** What changes or deletes one that stands, by the table. */
  const CHANGES = OPERATION_IDS.filter(id => {
    const { method, params, errors } = operation(id)
    return method !== 'GET' && params !== undefined && errors?.includes('managed_by_config') === true
  })
  const kindOf = (id: OperationId): Kind => id.replace(/^[a-z]+_/, '') as Kind
  const PATCHES: Readonly<Record<Kind, object>> = {
    endpoint: { display_name: 'x' },
    publication: { display_name: 'x' },
    binding: { weight: 2 },
    tenant: { display_name: 'x' },
    key: { quota: 1 },
  }

  let as: LoggedIn

  beforeAll(async () => {
    const at = (line: number) => ({ owner: 'config', set: 'default', place: { file: FILE, line } }) as const
    await put(
      control.store,
      endpoint('e', {}, at(11)),
      { kind: 'publication', name: 'openai/m', spec: canonical('publication', {}), ...at(12) },
      {
        kind: 'binding',
        name: 'openai/m e',
        spec: canonical('binding', { publication: 'openai/m', endpoint: 'e' }),
        ...at(13),
      },
      { kind: 'tenant', name: 't', spec: canonical('tenant', {}), ...at(14) },
      key('k', {}, at(15)),
    )
    await control.addUser('ada', 'admin')
    as = await control.logIn('ada')
  })

  test('can be changed in as many ways as this test knows', () => {
    expect(CHANGES).toEqual([
      'update_endpoint',
      'enable_endpoint',
      'disable_endpoint',
      'delete_endpoint',
      'update_publication',
      'delete_publication',
      'update_binding',
      'delete_binding',
      'update_tenant',
      'delete_tenant',
      'update_key',
      'delete_key',
    ])
  })

  test.each(CHANGES)('is left alone by %s, which names its file and its line', async id => {
    const { params, line } = DECLARED[kindOf(id)]
    const sent: Sent = {
      as,
      params,
      headers: { 'if-match': '*' },
      ...(operation(id).body && { body: PATCHES[kindOf(id)] }),
    }
    const before = await control.store.live()
    const { status, body } = await control.call(id, sent)
    expect([status, body.code, body['file'], body['line']]).toEqual([409, 'managed_by_config', FILE, line])
    expect(body.detail).toContain(`${FILE}:${line}`)
    expect(await control.store.live()).toEqual(before)
    expect(control.probed).toEqual([])
  })

  test.each(['endpoint', 'publication', 'binding', 'tenant', 'key'] as const)(
    'is not made a second time: the name of its %s is taken',
    async kind => {
      const { params } = DECLARED[kind]
      const more = {
        endpoint: { protocol: 'openai', base_url: 'http://x', served_model: 'm' },
        key: { kind: 'platform' },
      }
      const body = { ...params, ...(kind in more && more[kind as keyof typeof more]) }
      const { status, body: shown } = await control.call(`create_${kind}`, { as, body })
      expect([status, shown.code]).toEqual([409, 'already_exists'])
      expect(shown.detail).toContain(FILE)
    },
  )

  test('shows whose it is', async () => {
    for (const [kind, { params, line }] of Object.entries(DECLARED)) {
      const { body } = await control.call(`get_${kind}` as OperationId, { as, params })
      expect(body).toMatchObject({ owner: 'config', set: 'default', file: FILE, line })
    }
  })

  test('is not taken over by a document of another set, nor does it take over what was made here', async () => {
    const yaml = (set: string, tenant: string) => `version: 1\nset: ${set}\ntenants: { ${tenant}: {} }\n`
    for (const id of ['plan_config', 'apply_config'] as const) {
      const { revision: base } = await control.store.head()
      const apply = id === 'apply_config' && { base }
      const taken = await control.call(id, { as, body: { yaml: yaml('extra', 't'), ...apply } })
      expect([taken.status, taken.body.code]).toEqual([409, 'managed_by_config'])
      expect(taken.body['conflicts']).toMatchObject([{ kind: 'tenant', name: 't', file: FILE, line: 14 }])
    }
    await control.call('create_tenant', { as, body: { name: 'by-hand' } })
    const back = await control.call('plan_config', { as, body: { yaml: yaml('extra', 'by-hand') } })
    expect([back.status, back.body.code]).toEqual([409, 'managed_by_config'])
  })

  test('may have keys that are stopped at once, issued and revoked all the same', async () => {
    const named = { as, params: { name: 'k' } }
    expect((await control.call('issue_key', named)).status).toBe(201)
    expect((await control.call('disable_key', named)).body).toMatchObject({
      state: 'disabled',
      changed: true,
    })
    expect((await control.call('get_key', named)).body).toMatchObject({ state: 'suspended', owner: 'config' })
    expect((await control.call('disable_key', named)).body).toMatchObject({ changed: false })
    expect((await control.call('enable_key', named)).status).toBe(200)
    expect((await control.call('revoke_key', named)).body).toMatchObject({ secrets: 1, suspended: false })
    expect((await control.call('get_key', named)).body).toMatchObject({ state: 'no_secret' })
  })
})

describe('beside a running gateway', () => {
  const file = (model: string, more = '') => `
version: 1
endpoints: { declared: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: m, skip_probe: true } }
publications: { ${model}: { bindings: [{ endpoint: declared }] } }
tenants: { acme: {} }
keys: { app: { kind: tenant, tenant: acme }, other: { kind: tenant, tenant: acme } }
${more}`

  async function setUp() {
    const folder = tempDir(onTestFinished)
    const config = folder.write('gw.yaml', file('first'))
    const gateway = await wholeGateway(onTestFinished, config, { GW_ADMIN_PASSWORD: PASSWORD })
    const logIn = await ask(gateway, 'POST', '/session', { username: 'admin', password: PASSWORD })
    const rest = (method: string, path: string, body?: object) =>
      ask(gateway, method, path, body, String(logIn.body['token']))
    return { folder, config, gateway, rest }
  }

  async function ask(gateway: WholeGateway, method: string, path: string, body?: object, token?: string) {
    const answer = await fetch(`${gateway.controlUrl}/api/v1${path}`, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
        'if-match': '*',
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }

  /** Which models a key sees; undefined where it opens nothing. */
  async function models({ gatewayUrl }: WholeGateway, secret: string): Promise<string[] | undefined> {
    const answer = await fetch(`${gatewayUrl}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })
    const { data } = (await answer.json()) as { data?: readonly { id: string }[] }
    return data?.map(({ id }) => id)
  }

  /** Until the gateway says so; how long that took. */
  async function within(ms: number, holds: () => Promise<boolean>): Promise<void> {
    const startMs = performance.now()
    while (!(await holds())) {
      if (performance.now() - startMs > ms) throw new Error(`not within ${ms} ms`)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }

  test('a change reaches it within a second as a revision of its own, and what a file declares lives beside it', {
    timeout: 60_000,
  }, async () => {
    const { folder, config, gateway, rest } = await setUp()
    const secret = await gateway.issue('app')
    expect(await models(gateway, secret)).toEqual(['first'])

    const endpoint = {
      name: 'mine',
      protocol: 'openai',
      base_url: 'http://127.0.0.1:9/v1',
      served_model: 'm',
    }
    expect((await rest('POST', '/endpoints', { ...endpoint, skip_probe: true })).status).toBe(201)
    expect((await rest('POST', '/publications', { name: 'openai/mine:1' })).status).toBe(201)
    const bound = await rest('POST', '/bindings', { publication: 'openai/mine:1', endpoint: 'mine' })
    expect(bound.status).toBe(201)
    await within(1_000, async () => (await models(gateway, secret))?.includes('openai/mine:1') === true)
    // The name is there with the revision before.
    const revision = bound.body['created_revision']
    await within(1_000, async () => {
      const { gateways } = (await rest('GET', '/status')).body
      return Array.isArray(gateways) && gateways[0]?.revision === revision
    })

    // Applying the files again, and others, leaves it alone.
    folder.write('gw.yaml', file('second', 'settings: { currency: EUR }'))
    await gateway.apply(config)
    await within(1_000, async () => (await models(gateway, secret))?.join(' ') === 'openai/mine:1 second')
    expect((await rest('GET', '/publications/openai%2Fmine%3A1')).body).toMatchObject({ owner: 'rest' })

    expect((await rest('DELETE', '/bindings/openai%2Fmine%3A1/mine')).status).toBe(200)
    expect((await rest('DELETE', '/publications/openai%2Fmine%3A1')).status).toBe(200)
    await within(1_000, async () => (await models(gateway, secret))?.join(' ') === 'second')
  })

  test('a key that a file declares is stopped at once and held, over an apply, until it is taken back', {
    timeout: 60_000,
  }, async () => {
    const { config, gateway, rest } = await setUp()
    const [app, other] = [await gateway.issue('app'), await gateway.issue('other')]
    expect((await rest('POST', '/keys/app/disable')).status).toBe(200)
    await within(1_000, async () => (await models(gateway, app)) === undefined)
    expect((await rest('GET', '/keys/app')).body).toMatchObject({
      state: 'suspended',
      owner: 'config',
      line: 6,
    })
    await gateway.apply(config)
    expect((await rest('GET', '/keys/app')).body).toMatchObject({ state: 'suspended' })
    expect(await models(gateway, app)).toBeUndefined()

    expect((await rest('POST', '/keys/other/revoke')).status).toBe(200)
    await within(1_000, async () => (await models(gateway, other)) === undefined)
    expect((await rest('POST', '/keys/app/enable')).status).toBe(200)
    await within(1_000, async () => (await models(gateway, app)) !== undefined)
  })
})
