import { expect } from 'vitest'
import type { OperationId } from '../../src/schema/api/operations.ts'
import { write, writeRejected } from '../cli/traffic.ts'
import { call as callRow, hold, rejected, settle } from '../store/ledger/rows.ts'
import type { WhenOver } from '../support/when-over.ts'
import { bareGateway } from './bare-gateway.ts'
import {
  type Answered,
  type ControlScene,
  controlScene,
  type LoggedIn,
  PASSWORD,
  type Sent,
} from './scene.ts'

/** The two tenants of the matrix. No name of the one is part of a name of the other. */
export const TENANTS = ['mine', 'theirs'] as const
export type TenantName = (typeof TENANTS)[number]

export const ACTORS = ['anonymous', 'disabled', 'of mine', 'of theirs', 'admin'] as const
export type Actor = (typeof ACTORS)[number]
const USERS = { disabled: 'gone', 'of mine': 'tom', 'of theirs': 'eve', admin: 'ada' } as const

/** What one call of an operation sends, beside a session. */
export type Filling = Omit<Sent, 'as'>

/** A control plane with two tenants who look alike: each with keys, a wallet, calls, and a user. */
export interface MatrixWorld extends Pick<ControlScene, 'call' | 'url' | 'store' | 'storeAt' | 'clock'> {
  /** A session of the actor that is good, or none; of the disabled one a session that was good until then. */
  readonly session: (actor: Actor) => Promise<LoggedIn | undefined>
  /** As the administrator; what was made for a cell must not fail. */
  readonly prepare: (id: OperationId, sent: Filling) => Promise<Answered>
  /** A name that nothing has yet. */
  readonly fresh: (prefix: string) => string
  /** All that a call could change. */
  readonly state: () => Promise<unknown>
}

export async function matrixWorld(whenOver: WhenOver): Promise<MatrixWorld> {
  const scene = await controlScene(whenOver)
  const { call, logIn, store } = scene
  await bareGateway(scene, whenOver)
  // The user that prepares is none of the actors, whose log-outs would end its session.
  await scene.addUser('root', 'admin')
  const root = await logIn('root')
  let count = 0
  const prepare = async (id: OperationId, sent: Filling): Promise<Answered> => {
    const answered = await call(id, { as: root, ...sent })
    expect(answered.status, `${id}: ${JSON.stringify(answered.body)}`).toBeLessThan(300)
    return answered
  }
  for (const tenant of TENANTS) {
    await prepare('create_tenant', { body: { name: tenant, self_service: { max_keys: 100 } } })
    await prepare('create_key', { body: { name: `${tenant}/app`, kind: 'tenant', tenant } })
    await prepare('credit_wallet', {
      params: { name: tenant },
      body: { amount: 5, reference: `${tenant} 1` },
    })
  }
  await billCalls(scene)
  await scene.addUser('ada', 'admin')
  await scene.addUser('tom', 'tenant', 'mine')
  await scene.addUser('eve', 'tenant', 'theirs')
  await scene.addUser('gone', 'admin')
  const disabled = await logIn('gone')
  await store.users.changeUser('gone', { enabled: false })

  const sessions = new Map<Actor, LoggedIn>([['disabled', disabled]])
  const isGood = async (as: LoggedIn) => (await call('get_session', { as })).status === 200

  return {
    call,
    url: scene.url,
    store,
    storeAt: scene.storeAt,
    clock: scene.clock,
    prepare,
    session: async actor => {
      if (actor === 'anonymous') return undefined
      const standing = sessions.get(actor)
      if (standing && (actor === 'disabled' || (await isGood(standing)))) return standing
      const session = await logIn(USERS[actor])
      sessions.set(actor, session)
      return session
    },
    fresh: prefix => `${prefix}-${++count}`,
    state: async () => ({
      live: await store.live(),
      users: await store.users.users(),
      audit: (await store.users.audit({ limit: 1 }))[0]?.id,
      wallets: await store.accounting.wallets(),
    }),
  }
}

export const LOG_IN = { username: 'ada', password: PASSWORD }

/** One call of each tenant, as a gateway bills it, and one that it rejected. */
async function billCalls({ storeAt, clock }: ControlScene): Promise<void> {
  const atMs = clock.nowMs() - 3_600_000
  for (const tenant of TENANTS) {
    const whose = { tenant, key: `${tenant}/app`, publication: `${tenant}/model` }
    const requestId = `req_${tenant}`
    await write(storeAt, [
      ['hold', hold(requestId, { ...whose, openedAtMs: atMs, deadlineMs: atMs + 60_000 })],
      ['end', settle(requestId, { ...whose, endedAtMs: atMs })],
      ['log', callRow(requestId, { ...whose, atMs })],
    ])
    await writeRejected(storeAt, [rejected(requestId, { tenant, key: `${tenant}/app`, atMs })])
  }
}
