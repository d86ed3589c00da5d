import { expect, onTestFinished, test } from 'vitest'
import { keyDigest } from '../../src/base/api-key.ts'
import { OPERATION_IDS, type OperationId, operation } from '../../src/schema/api/operations.ts'
import { joinedNode } from '../support/joined-node.ts'
import { bareGateway } from './bare-gateway.ts'
import { undocumented } from './documented.ts'
import { type Answered, controlScene, type LoggedIn, PASSWORD, type Sent } from './scene.ts'

/** The state that changes start from, out of an answer. */
const etag = (answered: Answered) => ({ 'if-match': answered.headers.get('etag') ?? '' })

test('every operation answers as the document says, in success', async () => {
  const scene = await controlScene(onTestFinished)
  const { call: send, addUser, logIn } = scene
  await bareGateway(scene, onTestFinished)
  await addUser('ada', 'admin')
  const called = new Set<OperationId>()
  let as: LoggedIn = await logIn('ada')
  const call = async (id: OperationId, sent: Omit<Sent, 'as'> = {}) => {
    const answered = await send(id, { as, ...sent })
    expect(answered.status, `${id}: ${JSON.stringify(answered.body)}`).toBeLessThan(300)
    expect(undocumented(id, answered)).toEqual([])
    called.add(id)
    return answered
  }

  await call('log_in', { body: { username: 'ada', password: PASSWORD } })
  const expiresAtMs = scene.clock.nowMs() + 60_000
  await scene.store.users.createLoginLink({ user: 'ada', digest: keyDigest('gwl_1'), expiresAtMs })
  await call('log_in_by_link', { body: { link: 'gwl_1' } })
  await call('get_session')

  // A tenant with a wallet.
  await call('list_tenants', { query: { limit: '1' } })
  const tenant = await call('create_tenant', { body: { name: 'umbrella', billing: 'prepaid' } })
  const named = { params: { name: 'umbrella' } }
  await call('update_tenant', { ...named, headers: etag(tenant), body: { limits: { rpm: 5 } } })
  await call('get_tenant', named)
  await call('credit_wallet', { ...named, body: { amount: '12.5', reference: 'invoice-1', note: 'first' } })
  await call('debit_wallet', { ...named, body: { amount: 2, reference: 'refund-1' } })
  expect((await call('get_wallet', named)).body).toMatchObject({ balance: '10.5', available: '10.5' })
  await call('list_wallet_entries', named)

  // An embeddings-only upstream, published and bound.
  const endpoint = await call('create_endpoint', {
    body: {
      name: 'local/embed',
      protocol: 'openai',
      base_url: 'http://127.0.0.1:9/v1',
      served_model: 'e5',
      skip_probe: true,
    },
  })
  const embed = { params: { name: 'local/embed' } }
  const changed = await call('update_endpoint', {
    ...embed,
    headers: etag(endpoint),
    body: { skip_probe: false, timeouts: { connect: '1s' }, labels: { team: 'search' } },
  })
  expect(changed.body).toMatchObject({ timeouts: { connect: '1s', idle: '2m' }, labels: { team: 'search' } })
  await call('disable_endpoint', embed)
  await call('enable_endpoint', embed)
  await call('get_endpoint', embed)
  await call('list_endpoints')
  await call('probe_endpoint', embed)
  await call('probe_candidate', {
    body: { protocol: 'openai', base_url: 'http://127.0.0.1:9/v1', upstream_key: 'sk-1' },
  })
  const model = { params: { name: 'e5:latest' } }
  const publication = await call('create_publication', {
    body: { name: 'e5:latest', price: { input: 0.02 } },
  })
  expect(publication.body).toMatchObject({ price: { input: '0.02' }, status: 'listed' })
  await call('update_publication', { ...model, headers: etag(publication), body: { price: null } })
  await call('get_publication', model)
  await call('list_publications')
  await call('list_models')
  const both = { params: { publication: 'e5:latest', endpoint: 'local/embed' } }
  const binding = await call('create_binding', { body: both.params })
  await call('update_binding', { ...both, headers: etag(binding), body: { weight: 2 } })
  await call('get_binding', both)
  await call('list_bindings', { query: { publication: 'e5:latest' } })

  // A key of the tenant.
  const key = await call('create_key', {
    body: { name: 'app', kind: 'tenant', tenant: 'umbrella', budget: { amount: '5', per: 'month' } },
  })
  const app = { params: { name: 'app' } }
  await call('update_key', { ...app, headers: etag(key), body: { quota: 1_000 } })
  expect((await call('issue_key', app)).body.secret).toMatch(/^gw_/)
  await call('rotate_key', { ...app, body: { grace: '1h' } })
  expect((await call('get_key', app)).body).toMatchObject({ state: 'active', secret: { active: 2 } })
  await call('list_keys', { query: { tenant: 'umbrella' } })
  await call('disable_key', app)
  expect((await call('get_key', app)).body).toMatchObject({ state: 'suspended' })
  await call('enable_key', app)
  await call('revoke_key', app)

  const token = await call('create_token', { body: { name: 'nightly report', expires_in: '30d' } })
  await call('list_tokens', { query: { user: 'ada' } })
  await call('revoke_token', { params: { name: String(token.body['id']) } })

  const joinToken = await call('create_join_token', {
    body: { pattern: 'gpu-*', uses: 2, labels: { pool: 'a' } },
  })
  expect(joinToken.body).toMatchObject({ uses_left: 2, token: expect.stringMatching(/^gwj_/) })
  await call('list_join_tokens')
  await call('revoke_join_token', { params: { name: String(joinToken.body['id']) } })
  await joinedNode(scene.storeAt, 'gpu-7')
  const gpu = { params: { name: 'gpu-7' } }
  await call('list_nodes')
  await call('drain_node', gpu)
  expect((await call('get_node', gpu)).body).toMatchObject({ state: 'draining', declared: false })
  await call('uncordon_node', gpu)
  await call('revoke_node', gpu)

  const lost = { id: 'lost', pid: 7, host: 'box', startedAtMs: 0, revision: 1, keyVersion: 0 }
  await scene.store.reportGateway(lost)
  const listed = await call('list_gateways')
  expect(listed.body.data.at(-1)).toMatchObject({ id: 'lost', name: 'box:7', state: 'alive', shares: 0 })
  const forget = { params: { id: 'lost' }, query: { force: 'true' } }
  expect((await call('forget_gateway', forget)).body).toMatchObject({ forgotten: true })

  await call('get_usage', { query: { by: 'key' } })
  await call('call_playground', {
    body: { secret: 'gw_none', path: '/v1/chat/completions', body: { model: 'm' } },
  })
  await call('list_calls', { query: { min_status: '400' } })
  await call('list_rejections', { query: { min_status: '400' } })

  // The configuration as a document.
  const yaml = 'version: 1\nset: extra\npublications:\n  soon: { status: draft }\n'
  await call('validate_config', { body: { yaml } })
  const plan = await call('plan_config', { body: { yaml } })
  expect(plan.body).toMatchObject({
    blast_radius: { breaks_keys: 0 },
    verdict: '1 to create, 0 to update, 0 to delete',
  })
  await call('apply_config', { body: { yaml, base: plan.body['base'] } })
  const history = await call('list_revisions', { query: { limit: '2' } })
  await call('list_revisions', { query: { cursor: history.body.next_cursor ?? '' } })
  await call('preview_change', { body: { kind: 'tenant', name: 'umbrella', patch: { limits: { rpm: 1 } } } })
  await call('get_revision', { params: { id: '1' } })
  await call('list_sets')
  expect((await call('export_config', { query: { set: 'extra' } })).body['yaml']).toContain('soon')
  expect((await call('export_config')).body).toMatchObject({ variables: [] })
  const back = { revision: plan.body['base'] }
  expect((await call('roll_back', { body: { ...back, dry_run: true } })).body).toMatchObject({
    applied: false,
  })
  expect((await call('roll_back', { body: back })).body).toMatchObject({ applied: true })

  await call('get_maintenance')
  await call('set_maintenance', { body: { enabled: true, message: 'soon' } })
  await call('get_status')
  await call('get_pulse')
  await call('watch_events', { query: { limit: '2' } })
  await call('explain', { query: { key: 'app', model: 'e5:latest' } })
  await call('explain_secret', { body: { secret: 'gw_nobodys' } })

  // Away again.
  await call('delete_key', app)
  await call('delete_binding', both)
  await call('delete_publication', model)
  await call('delete_endpoint', { ...embed, headers: { 'if-match': '*' } })
  await call('delete_tenant', named)

  const user = await call('create_user', {
    body: { name: 'tom', password: PASSWORD, role: 'tenant', tenant: 'acme' },
  })
  const tom = { params: { name: 'tom' } }
  await call('update_user', { ...tom, headers: etag(user), body: { enabled: false } })
  await call('get_user', tom)
  await call('list_users')
  await call('reset_password', { ...tom, body: { password: PASSWORD } })
  await call('end_user_sessions', tom)
  // A reset has ended the sessions: nothing was left to end, and a line is for what changed something.
  const audit = await call('list_audit', { query: { limit: '500' } })
  expect(audit.body.data[0]).toMatchObject({
    user: 'ada',
    role: 'admin',
    origin: 'rest',
    address: '127.0.0.1',
    action: 'reset_password',
    target: 'user/tom',
  })

  await call('log_out')
  as = await logIn('ada')
  await call('change_password', { body: { current_password: PASSWORD, new_password: PASSWORD } })
  as = await logIn('ada')
  await call('log_out_everywhere')

  expect(OPERATION_IDS.filter(id => !called.has(id))).toEqual([])
})

test('every operation answers as the document says where it is rejected', async () => {
  const { call, addUser, logIn } = await controlScene(onTestFinished)
  await addUser('ada', 'admin')
  const as = await logIn('ada')
  const params = { name: 'none', publication: 'none', endpoint: 'none', id: 'none' }
  for (const id of OPERATION_IDS) {
    const foreign = await call(id, { params })
    expect(undocumented(id, foreign)).toEqual([])
    expect(foreign.status).toBe(id.startsWith('log_in') ? 400 : 401)
    const nonsense = await call(id, {
      as,
      params,
      query: { no_such: '1' },
      ...(operation(id).body && { body: { no_such: 1 } }),
      headers: { 'if-match': '"1"' },
    })
    expect(undocumented(id, nonsense)).toEqual([])
    expect(nonsense.status).toBeGreaterThanOrEqual(400)
  }
})
