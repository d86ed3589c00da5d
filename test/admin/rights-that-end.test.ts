import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { keyDigest } from '../../src/base/api-key.ts'
import { API_PREFIX, OPERATION_IDS, type OperationId, operation } from '../../src/schema/api/operations.ts'
import { permission } from '../../src/schema/api/permissions.ts'
import type { Role } from '../../src/schema/user.ts'
import { canonical, MINE, put, remove } from '../store/samples.ts'
import { execute } from '../support/past-the-store.ts'
import { FILLINGS } from './matrix-fillings.ts'
import { type Filling, matrixWorld } from './matrix-world.ts'

const world = await matrixWorld(afterAll)
const { users } = world.store

/** Of whom a right is taken away, and what the request is about. */
interface Standing {
  readonly user: string
  readonly token: string
  readonly filling: Filling
}

interface Loss {
  readonly by: (standing: Standing) => Promise<unknown>
  /** What the request is answered with, by what is left of the right. */
  readonly status: number
  readonly needsKey?: true
}

const EVERY_ROLE: Readonly<Record<string, Loss>> = {
  'the session has ended': { by: ({ token }) => users.endSession(keyDigest(token)), status: 401 },
  'the user is disabled': { by: ({ user }) => users.changeUser(user, { enabled: false }), status: 401 },
  'the user is gone': {
    by: ({ user }) => execute(world.storeAt, `delete from users where name = '${user}'`),
    status: 401,
  },
}

const LOSSES: Readonly<Record<Role, Readonly<Record<string, Loss>>>> = {
  admin: {
    ...EVERY_ROLE,
    'the user is of a tenant now': {
      by: ({ user }) => users.changeUser(user, { place: { role: 'tenant', tenant: 'mine' } }),
      status: 401,
    },
  },
  tenant: {
    ...EVERY_ROLE,
    'the user is of another tenant now': {
      by: ({ user }) => users.changeUser(user, { place: { role: 'tenant', tenant: 'theirs' } }),
      status: 401,
    },
    'the key is of another tenant now': {
      by: async ({ filling }) => {
        const spec = canonical('key', { kind: 'tenant', tenant: 'theirs' })
        return put(world.store, { kind: 'key', name: filling.params?.['name'] ?? '', spec, ...MINE })
      },
      status: 404,
      needsKey: true,
    },
    'the key is gone': {
      by: ({ filling }) => remove(world.store, { kind: 'key', name: filling.params?.['name'] ?? '' }),
      status: 404,
      needsKey: true,
    },
  },
}

/** Each operation that has a body or changes something, each role that may call it, each way to lose the right. */
const CASES = OPERATION_IDS.flatMap(id => {
  const { method, target } = operation(id)
  const permitted = permission(id)
  if (method === 'GET' || permitted === 'anyone') return []
  return (
    (['admin', 'tenant'] as const)
      .filter(role => permitted[role] !== undefined)
      // A token is its user's own, and these users come and go: test/admin/tokens.test.ts.
      .filter(role => role === 'admin' || target !== 'token')
      .flatMap(role =>
        Object.entries(LOSSES[role])
          .filter(([, { needsKey }]) => !needsKey || target === 'key')
          .map(([loss, { by, status, needsKey }]) => ({ id, role, loss, by, status, needsKey })),
      )
  )
})

afterEach(() => vi.restoreAllMocks())

const fillings = new Map<OperationId, Filling>()

/** What was rejected has left everything as it was, for the next one to try; a key that has gone has not. */
async function fillingOf(id: OperationId, needsKey: true | undefined): Promise<Filling> {
  const filling = (!needsKey && fillings.get(id)) || (await FILLINGS[id](world, 'mine'))
  if (!needsKey) fillings.set(id, filling)
  return filling
}

/** A session of a user of its own. */
async function standing(role: Role, filling: Filling): Promise<Standing> {
  // A change for each of them: the rate of a tenant's changes is not what ends the right.
  world.clock.advance(2_000)
  const user = world.fresh('loser')
  const passwordHash = (await users.credential('ada'))?.passwordHash ?? ''
  await users.createUser({ name: user, role, ...(role === 'tenant' && { tenant: 'mine' }), passwordHash })
  const token = `gws_${user.padEnd(43, '_')}`
  const session = { digest: keyDigest(token), user, passwordHash } as const
  await users.openSession({ ...session, carrier: 'bearer', address: '::1' })
  return { user, token, filling }
}

/** Begins to send, and gives what sends the rest and resolves with the answer. */
async function halfSent(id: OperationId, { filling, token }: Standing) {
  const { method, path } = operation(id)
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(filling.params?.[name] ?? ''),
  )
  const body = JSON.stringify(filling.body ?? {})
  const query = new URLSearchParams(filling.query).toString()
  const req = request(`${world.url}${API_PREFIX}${filled}${query && `?${query}`}`, {
    method,
    agent: false,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...filling.headers,
    },
  })
  const answer = once(req, 'response')
  req.write(body.slice(0, 1))
  return async () => {
    req.end(body.slice(1))
    const [res] = (await answer) as [IncomingMessage]
    const text = (await res.toArray()).join('')
    return { status: res.statusCode, body: text }
  }
}

/** Resolves when the session has been looked up so often, and lets the `last` look-up wait for `then`. */
function lookUps(count: number, then: () => Promise<void> = async () => undefined): Promise<void> {
  const session = users.session.bind(users)
  let seen = 0
  return new Promise((resolve, reject) => {
    vi.spyOn(users, 'session').mockImplementation(async digest => {
      const found = await session(digest)
      seen++
      if (seen === count) await then().then(resolve, reject)
      return found
    })
  })
}

describe.each(CASES)('$id by the role $role', ({ id, role, by, loss, status, needsKey }) => {
  test(`is rejected where ${loss} between the first and the last byte of its body`, async () => {
    const actor = await standing(role, await fillingOf(id, needsKey))
    const isJudged = lookUps(1)
    const rest = await halfSent(id, actor)
    await isJudged
    await by(actor)
    const before = await world.state()
    const answered = await rest()
    expect(answered.status, answered.body).toBe(status)
    expect(await world.state()).toEqual(before)
  })

  test.skipIf(operation(id).isReadOnly)(
    `is rejected where ${loss} between the look at the session and the change`,
    async () => {
      const actor = await standing(role, await fillingOf(id, needsKey))
      let before: unknown
      const isLost = lookUps(2, async () => {
        await by(actor)
        before = await world.state()
      })
      const rest = await halfSent(id, actor)
      const answered = await rest()
      await isLost
      expect(answered.status, answered.body).toBe(status)
      expect(await world.state()).toEqual(before)
    },
  )
})

test('every operation that changes something and needs a session is among them, for each role', () => {
  expect(new Set(CASES.map(({ id }) => id)).size).toBeGreaterThan(30)
  expect(CASES.filter(({ id }) => id === 'issue_key').length).toBe(4 + 6)
})
