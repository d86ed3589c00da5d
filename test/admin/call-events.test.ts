import { expect, onTestFinished, test } from 'vitest'
import { API_PREFIX } from '../../src/schema/api/operations.ts'
import { write, writeRejected } from '../cli/traffic.ts'
import { call as callRow, rejected } from '../store/ledger/rows.ts'
import { controlScene, type LoggedIn } from './scene.ts'

test('a new call, also a rejected one, is an event for administrators, and for the tenant whose key made it', async () => {
  const scene = await controlScene(onTestFinished)
  await scene.addUser('ada', 'admin')
  const admin = await scene.logIn('ada')
  const users = { acme: 'tom', umbrella: 'rita' }
  for (const [tenant, user] of Object.entries(users)) {
    await scene.call('create_tenant', { as: admin, body: { name: tenant } })
    await scene.addUser(user, 'tenant', tenant)
  }
  const watch = async (as: LoggedIn) => {
    const leaving = new AbortController()
    onTestFinished(() => leaving.abort())
    const answer = await fetch(`${scene.url}${API_PREFIX}/events`, {
      headers: as.headers,
      signal: leaving.signal,
    })
    const decoder = new TextDecoder()
    const seen = { text: '' }
    const read = async () => {
      for await (const bytes of answer.body ?? []) seen.text += decoder.decode(bytes as Uint8Array)
    }
    read().catch(() => undefined)
    await expect.poll(() => seen.text).toContain('event: status')
    return () => seen.text.split('\n').filter((_, at, lines) => lines[at - 1] === 'event: calls')
  }
  const [ofAdmin, ofTom, ofRita] = [
    await watch(admin),
    await watch(await scene.logIn('tom')),
    await watch(await scene.logIn('rita')),
  ]
  const log = (id: string, tenant: string) =>
    write(scene.storeAt, [['log', callRow(id, { tenant, status: 200 })]])
  const seen = () => {
    scene.clock.advance(500)
    return [ofAdmin(), ofTom(), ofRita()]
  }
  const event = (newest: number, rejected = 0) =>
    `data: {"event":"calls","newest":${newest},"newest_rejected":${rejected}}`
  await log('req_1', 'umbrella')
  await expect.poll(seen).toEqual([[event(1)], [], [event(1)]])
  await log('req_2', 'acme')
  await expect.poll(seen).toEqual([[event(1), event(2)], [event(2)], [event(1)]])
  await writeRejected(scene.storeAt, [rejected('req_3', { tenant: 'umbrella' })])
  await expect.poll(seen).toEqual([[event(1), event(2), event(2, 1)], [event(2)], [event(1), event(1, 1)]])
})
