import { keyDigest } from '../../src/base/api-key.ts'
import type { OperationId } from '../../src/schema/api/operations.ts'
import { joinedNode } from '../support/joined-node.ts'
import { type Filling, LOG_IN, type MatrixWorld, TENANTS, type TenantName } from './matrix-world.ts'
import { PASSWORD } from './scene.ts'

/** Makes what an operation needs to succeed for each role that may call it, about something that belongs to `tenant`. */
export type Fill = (world: MatrixWorld, tenant: TenantName) => Promise<Filling>

const nothing: Fill = async () => ({})
const byTenant: Fill = async (_, tenant) => ({ params: { name: tenant } })
const ofTenant: Fill = async (_, tenant) => ({ query: { tenant } })
const version = { 'if-match': '*' }

const madeTenant: Fill = async ({ prepare, fresh }) => {
  const name = fresh('tenant')
  await prepare('create_tenant', { body: { name } })
  return { params: { name } }
}
const key: Fill = async ({ prepare, fresh }, tenant) => {
  const name = fresh(`${tenant}/key`)
  await prepare('create_key', { body: { name, kind: 'tenant', tenant } })
  return { params: { name } }
}
const keyWithSecret: Fill = async (world, tenant) => {
  const filling = await key(world, tenant)
  await world.prepare('issue_key', filling)
  return filling
}
const heldKey: Fill = async (world, tenant) => {
  const filling = await key(world, tenant)
  await world.prepare('disable_key', filling)
  return filling
}
const user: Fill = async ({ prepare, fresh }, tenant) => {
  const name = fresh('user')
  await prepare('create_user', { body: { name, password: PASSWORD, role: 'tenant', tenant } })
  return { params: { name } }
}
const newEndpoint = (name: string) => ({
  name,
  protocol: 'openai',
  base_url: 'http://127.0.0.1:9/v1',
  served_model: 'm',
})
const endpoint: Fill = async ({ prepare, fresh }) => {
  const name = fresh('endpoint')
  await prepare('create_endpoint', { body: newEndpoint(name) })
  return { params: { name } }
}
const disabledEndpoint: Fill = async (world, tenant) => {
  const filling = await endpoint(world, tenant)
  await world.prepare('disable_endpoint', filling)
  return filling
}
const publication: Fill = async ({ prepare, fresh }) => {
  const name = fresh('publication')
  await prepare('create_publication', { body: { name } })
  return { params: { name } }
}
const callableModel: Fill = async (world, tenant) => {
  await publication(world, tenant)
  return { query: { tenant } }
}
const bindable = async (world: MatrixWorld, tenant: TenantName) => ({
  endpoint: (await endpoint(world, tenant)).params?.['name'] ?? '',
  publication: (await publication(world, tenant)).params?.['name'] ?? '',
})
const binding: Fill = async (world, tenant) => {
  const params = await bindable(world, tenant)
  await world.prepare('create_binding', { body: params })
  return { params }
}
const node: Fill = async ({ storeAt, fresh }) => {
  const name = fresh('node')
  await joinedNode(storeAt, name)
  return { params: { name } }
}
const drainingNode: Fill = async (world, tenant) => {
  const filling = await node(world, tenant)
  await world.prepare('drain_node', filling)
  return filling
}
const booking: Fill = async ({ fresh }, tenant) => ({
  params: { name: tenant },
  body: { amount: '1', reference: fresh('reference') },
})
const gateway: Fill = async ({ store, fresh }) => {
  const id = fresh('gateway')
  await store.reportGateway({ ...LOST_GATEWAY, id })
  return { params: { id }, query: { force: 'true' } }
}
const LOST_GATEWAY = { pid: 1, host: 'elsewhere', startedAtMs: 0, revision: 99, keyVersion: 99 }
const yaml = (set: string) => `version: 1\nset: ${set}\npublications:\n  ${set}: { status: draft }\n`

/** A token of the user of a tenant, by its id: an administrator makes none for others. */
async function tokenOf({ store, fresh }: MatrixWorld, tenant: TenantName): Promise<string> {
  const id = fresh('token')
  await store.users.createToken({
    id,
    digest: keyDigest(id),
    user: USER_OF[tenant],
    name: id,
    scope: 'write',
    expiresAtMs: Date.UTC(2099, 0),
  })
  return id
}
const USER_OF = { mine: 'tom', theirs: 'eve' } as const
const tokens: Fill = async world => {
  for (const tenant of TENANTS) await tokenOf(world, tenant)
  return {}
}

/** The same, with more. */
function and(fill: Fill, more: Filling): Fill {
  return async (world, tenant) => ({ ...(await fill(world, tenant)), ...more })
}

/** One for each operation: a new one does not compile without. */
export const FILLINGS: Readonly<Record<OperationId, Fill>> = {
  log_in: async () => ({ body: LOG_IN }),
  log_in_by_link: async ({ store, fresh }) => {
    const link = fresh('gwl_')
    const expiresAtMs = Date.UTC(2099, 0)
    await store.users.createLoginLink({ user: 'ada', digest: keyDigest(link), expiresAtMs })
    return { body: { link } }
  },
  get_session: nothing,
  log_out: nothing,
  log_out_everywhere: nothing,
  change_password: async () => ({ body: { current_password: PASSWORD, new_password: PASSWORD } }),

  list_users: nothing,
  create_user: async ({ fresh }, tenant) => ({
    body: { name: fresh('user'), password: PASSWORD, role: 'tenant', tenant },
  }),
  get_user: user,
  update_user: and(user, { body: { enabled: false }, headers: version }),
  reset_password: and(user, { body: { password: PASSWORD } }),
  end_user_sessions: user,

  list_tokens: tokens,
  create_token: async ({ fresh }) => ({ body: { name: fresh('token') } }),
  revoke_token: async (world, tenant) => ({ params: { name: await tokenOf(world, tenant) } }),

  list_nodes: nothing,
  get_node: node,
  drain_node: node,
  uncordon_node: drainingNode,
  revoke_node: node,
  list_join_tokens: nothing,
  create_join_token: async ({ fresh }) => ({ body: { pattern: fresh('node') } }),
  revoke_join_token: async ({ store, fresh }) => {
    const id = fresh('token')
    await store.nodes.createJoinToken({
      id,
      digest: keyDigest(id),
      pattern: 'n',
      labels: {},
      uses: 1,
      expiresAtMs: Date.UTC(2099, 0),
    })
    return { params: { name: id } }
  },

  list_gateways: nothing,
  forget_gateway: gateway,

  list_endpoints: nothing,
  create_endpoint: async ({ fresh }) => ({ body: newEndpoint(fresh('endpoint')) }),
  get_endpoint: endpoint,
  update_endpoint: and(endpoint, { body: { display_name: 'other' }, headers: version }),
  enable_endpoint: disabledEndpoint,
  disable_endpoint: endpoint,
  delete_endpoint: endpoint,
  probe_candidate: async () => ({
    body: { protocol: 'openai', base_url: 'http://127.0.0.1:9/v1', served_model: 'm' },
  }),
  probe_endpoint: endpoint,

  list_publications: nothing,
  create_publication: async ({ fresh }) => ({ body: { name: fresh('publication') } }),
  get_publication: publication,
  update_publication: and(publication, { body: { display_name: 'other' }, headers: version }),
  delete_publication: publication,

  list_bindings: nothing,
  create_binding: async (world, tenant) => ({ body: await bindable(world, tenant) }),
  get_binding: binding,
  update_binding: and(binding, { body: { weight: 2 }, headers: version }),
  delete_binding: binding,

  list_tenants: nothing,
  create_tenant: async ({ fresh }) => ({ body: { name: fresh('tenant') } }),
  get_tenant: byTenant,
  update_tenant: and(byTenant, { body: { display_name: 'other' }, headers: version }),
  delete_tenant: madeTenant,

  get_wallet: byTenant,
  list_wallet_entries: byTenant,
  credit_wallet: booking,
  debit_wallet: booking,

  list_models: callableModel,
  list_keys: ofTenant,
  create_key: async ({ fresh }, tenant) => ({
    body: { name: fresh(`${tenant}/key`), kind: 'tenant', tenant },
  }),
  get_key: key,
  update_key: and(key, { body: { quota: 5 }, headers: version }),
  delete_key: key,
  issue_key: key,
  rotate_key: and(keyWithSecret, { body: {} }),
  disable_key: key,
  enable_key: heldKey,
  revoke_key: keyWithSecret,

  call_playground: async () => ({
    body: { secret: 'gw_none', path: '/v1/chat/completions', body: { model: 'm' } },
  }),

  get_usage: async (_, tenant) => ({ query: { by: 'tenant', tenant } }),
  list_calls: ofTenant,
  list_rejections: ofTenant,

  validate_config: async ({ fresh }) => ({ body: { yaml: yaml(fresh('set')) } }),
  plan_config: async ({ fresh }) => ({ body: { yaml: yaml(fresh('set')) } }),
  preview_change: async ({ fresh }) => ({ body: { kind: 'tenant', name: fresh('tenant'), patch: {} } }),
  apply_config: async world => {
    const source = yaml(world.fresh('set'))
    const plan = await world.prepare('plan_config', { body: { yaml: source } })
    return { body: { yaml: source, base: plan.body['base'] } }
  },
  list_sets: nothing,
  export_config: nothing,
  list_revisions: nothing,
  get_revision: async () => ({ params: { id: '1' } }),
  roll_back: async ({ prepare }) => {
    const revisions = await prepare('list_revisions', { query: { limit: '2' } })
    return { body: { revision: revisions.body.data[1]?.['id'] } }
  },

  get_maintenance: nothing,
  set_maintenance: async () => ({ body: { enabled: true } }),

  get_status: nothing,
  get_pulse: nothing,
  watch_events: async () => ({ query: { limit: '1' } }),
  explain: async (_, tenant) => ({ query: { key: `${tenant}/app`, model: 'chat' } }),
  explain_secret: async () => ({ body: { secret: 'no key’s secret' } }),
  list_audit: nothing,
}
