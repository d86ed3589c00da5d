import { afterAll, describe, expect, test } from 'vitest'
import { OPERATION_IDS, type OperationId, operation } from '../../src/schema/api/operations.ts'
import { permission } from '../../src/schema/api/permissions.ts'
import { FILLINGS } from './matrix-fillings.ts'
import { ACTORS, type Actor, type Filling, matrixWorld, TENANTS, type TenantName } from './matrix-world.ts'
import type { Answered } from './scene.ts'

/**
 * What users of a tenant may do; all that is not here is for administrators. Said once more and not read from the table,
 * so that a slip there does not pass for the law.
 */
const OF_TENANTS: readonly OperationId[] = [
  'get_session',
  'log_out',
  'log_out_everywhere',
  'change_password',
  'list_tokens',
  'create_token',
  'revoke_token',
  'list_models',
  'list_tenants',
  'get_tenant',
  'get_wallet',
  'list_wallet_entries',
  'list_keys',
  'create_key',
  'get_key',
  'delete_key',
  'issue_key',
  'rotate_key',
  'disable_key',
  'explain',
  'revoke_key',
  'call_playground',
  'get_usage',
  'list_calls',
  'list_rejections',
  'watch_events',
]

test('the table gives tenants what this test says, and nothing without a session', () => {
  const byPermission = (wanted: (id: OperationId) => boolean) => OPERATION_IDS.filter(wanted).sort()
  expect(byPermission(id => permission(id) === 'anyone')).toEqual(['log_in', 'log_in_by_link'])
  const open = byPermission(id => {
    const allowed = permission(id)
    return allowed !== 'anyone' && allowed.tenant !== undefined
  })
  expect(open).toEqual([...OF_TENANTS].sort())
  for (const id of OPERATION_IDS) {
    const allowed = permission(id)
    if (allowed === 'anyone') continue
    expect(allowed.admin, id).toBe('all')
    expect(allowed.tenant ?? 'own', id).toBe('own')
  }
})

/** Whose things an actor's tenant are, where it has one. */
const HOMES: Partial<Record<Actor, TenantName>> = { 'of mine': 'mine', 'of theirs': 'theirs' }

/** What the cell must answer, by the table alone. */
function expected(id: OperationId, actor: Actor, object: TenantName): number {
  const { answer, params } = operation(id)
  const allowed = permission(id)
  if (allowed === 'anyone') return answer.status
  if (actor === 'anonymous' || actor === 'disabled') return 401
  const scope = allowed[actor === 'admin' ? 'admin' : 'tenant']
  if (scope === undefined) return 403
  if (scope !== 'own' || HOMES[actor] === object) return answer.status
  // A new key has no name yet that would be hidden: it names its tenant.
  if (id === 'create_key') return 422
  // Its key is in the query.
  if (id === 'explain') return 404
  return params === undefined ? answer.status : 404
}

const CODES: Readonly<Record<number, string>> = {
  401: 'not_logged_in',
  403: 'forbidden',
  404: 'not_found',
  422: 'invalid_request',
}

/** Whether it is about one tenant's things or another's. */
function hasObject(id: OperationId): boolean {
  const { params, query } = operation(id)
  return id === 'explain' || params !== undefined || query?.shape['tenant'] !== undefined
}

const world = await matrixWorld(afterAll)

describe.each(OPERATION_IDS)('%s', id => {
  const objects = hasObject(id) ? TENANTS : TENANTS.slice(0, 1)
  const cells = ACTORS.flatMap(actor => objects.map(object => ({ actor, object })))
  const fillings = new Map<TenantName, Filling>()
  test.each(cells)('by $actor about what is of $object', async ({ actor, object }) => {
    const status = expected(id, actor, object)
    // What was rejected has left everything as it was, for the next one to try.
    const filling = fillings.get(object) ?? (await FILLINGS[id](world, object))
    if (status >= 400) fillings.set(object, filling)
    else fillings.delete(object)
    const as = await world.session(actor)
    const before = await world.state()
    const answered = await world.call(id, { ...(as && { as }), ...filling })
    expect([answered.status, answered.body?.code], JSON.stringify(answered.body)).toEqual([
      status,
      CODES[status],
    ])
    if (status >= 400) expect(await world.state()).toEqual(before)
    else assertNothingForeign(id, actor, object, answered)
  })
})

/** A tenant sees nothing that is another's, and sees what is its own. */
function assertNothingForeign(id: OperationId, actor: Actor, object: TenantName, { body }: Answered): void {
  const home = HOMES[actor]
  if (home === undefined || permission(id) === 'anyone') return
  const [other] = TENANTS.filter(tenant => tenant !== home)
  const shown = JSON.stringify(body) ?? ''
  expect(shown).not.toContain(other)
  const isFiltered = operation(id).query?.shape['tenant'] !== undefined
  if (isFiltered) expect(body.data.length > 0).toBe(object === home)
  else if (body !== undefined && id !== 'delete_key') expect(shown).toContain(home)
}

test('what is another’s and what does not exist get the same answer, whatever else is wrong', async () => {
  const as = await world.session('of mine')
  const ids = OF_TENANTS.filter(id => operation(id).params)
  expect(ids.length).toBeGreaterThan(5)
  for (const id of ids) {
    const { params } = await FILLINGS[id](world, 'theirs')
    const ask = async (name: string) => {
      const sent = { params: { name }, query: { no_such: '1' }, headers: { 'if-match': 'nonsense' } }
      const wrong = operation(id).method === 'GET' ? {} : { body: { is_admin: true } }
      const { status, body } = await world.call(id, { ...(as && { as }), ...sent, ...wrong })
      return [
        status,
        JSON.stringify(body)
          .replaceAll(name, 'NAME')
          .replace(/req_\w+/, 'ID'),
      ]
    }
    const name = params?.['name'] ?? ''
    expect(await ask(name), id).toEqual(await ask(`not-${name}`))
  }
})
