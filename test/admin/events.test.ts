import { expect, onTestFinished, test, vi } from 'vitest'
import { API_PREFIX } from '../../src/schema/api/operations.ts'
import { type ControlScene, controlScene, type LoggedIn } from './scene.ts'

interface Event {
  readonly event: string
  readonly revision?: number
  readonly changes?: readonly { readonly action: string; readonly target?: string }[]
}

/** The events of a stream, one at a time. */
async function watch({ url }: ControlScene, as: LoggedIn) {
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  const answer = await fetch(`${url}${API_PREFIX}/events`, { headers: as.headers, signal: leaving.signal })
  return { answer, leave: () => leaving.abort(), events: eventsIn(answer) }
}

async function* eventsIn({ body }: Response): AsyncGenerator<Event> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes as Uint8Array, { stream: true })
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const [name, data] = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const event = JSON.parse(data?.replace('data: ', '') ?? '') as Event
      expect(name).toBe(`event: ${event.event}`)
      yield event
    }
  }
}

async function setUp() {
  const scene = await controlScene(onTestFinished)
  await scene.addUser('ada', 'admin')
  return { scene, as: await scene.logIn('ada') }
}

/** The next event of this name; the time of the test passes until it comes. */
async function next({ clock }: ControlScene, events: AsyncGenerator<Event>, name: string): Promise<Event> {
  for (;;) {
    const coming = events.next()
    const passing = setInterval(() => clock.advance(500), 5)
    const found = await coming.finally(() => clearInterval(passing))
    if (found.done) throw new Error(`the stream ended before ${name}`)
    if (found.value.event === name) return found.value
  }
}

/** The next change with its audit line, which is written after the change: an event between them has the change alone. */
async function nextChange(scene: ControlScene, events: AsyncGenerator<Event>): Promise<Event> {
  for (;;) {
    const event = await next(scene, events, 'changed')
    if (event.changes?.length) return event
  }
}

/** Five seconds of the test pass, with time for what is due in them. */
async function passes({ clock }: ControlScene): Promise<void> {
  for (let step = 0; step < 10; step++) {
    clock.advance(500)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

test('events begin with the revision, and have each change with its audit line', async () => {
  const { scene, as } = await setUp()
  const { answer, events } = await watch(scene, as)
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  const { revision } = await scene.store.head()
  expect((await events.next()).value).toEqual({ event: 'status', revision })
  await scene.call('create_key', { as, body: { name: 'k', kind: 'platform' } })
  expect(await nextChange(scene, events)).toEqual({
    event: 'changed',
    revision: revision + 1,
    changes: [{ action: 'create_key', target: 'key/k' }],
  })
  // No revision, but the console shows it.
  await scene.call('issue_key', { as, params: { name: 'k' } })
  expect(await nextChange(scene, events)).toMatchObject({ changes: [{ action: 'issue_key' }] })
})

test('a tenant sees that its own keys, itself and its wallet changed, and nothing of others', async () => {
  const { scene, as } = await setUp()
  await scene.addUser('tom', 'tenant', 'acme')
  const { events } = await watch(scene, await scene.logIn('tom'))
  expect((await events.next()).value).toMatchObject({ event: 'status' })
  const create = (name: string, tenant: string) =>
    scene.call('create_key', { as, body: { name, kind: 'tenant', tenant } })
  await create('of-theirs', 'other')
  await scene.call('issue_key', { as, params: { name: 'of-theirs' } })
  await passes(scene)
  const { body } = await create('of-mine', 'acme')
  // The first event is about the own key: there was none about the others.
  const first = await next(scene, events, 'changed')
  expect(first).toEqual({ event: 'changed', revision: body['updated_revision'], changes: [] })
  await scene.call('issue_key', { as, params: { name: 'of-mine' } })
  expect(await next(scene, events, 'changed')).toMatchObject({ changes: [] })
  const credit = { params: { name: 'acme' }, body: { amount: '5', reference: 'invoice 1' } }
  expect((await scene.call('credit_wallet', { as, ...credit })).status).toBe(200)
  expect(await next(scene, events, 'changed')).toMatchObject({ changes: [] })
})

test('a log-in of another user is no event', async () => {
  const { scene, as } = await setUp()
  const { events } = await watch(scene, as)
  await events.next()
  await scene.logIn('ada')
  await next(scene, events, 'live_stats')
  await scene.call('create_key', { as, body: { name: 'k', kind: 'platform' } })
  expect(await nextChange(scene, events)).toMatchObject({ changes: [{ action: 'create_key' }] })
})

test('a stream ends when its session does', async () => {
  const { scene, as } = await setUp()
  const { events } = await watch(scene, as)
  await events.next()
  await scene.call('log_out', { as })
  await expect(next(scene, events, 'changed')).rejects.toThrow('the stream ended')
})

test('watching does not prolong a session', async () => {
  const { scene, as } = await setUp()
  const { events } = await watch(scene, as)
  await events.next()
  scene.clock.advance(29 * 60_000)
  await next(scene, events, 'live_stats')
  scene.clock.advance(2 * 60_000)
  await expect(next(scene, events, 'changed')).rejects.toThrow('the stream ended')
  expect((await scene.call('get_session', { as })).status).toBe(401)
})

test('a user has at most eight streams in all sessions and tokens, and gets a place back when one is closed', async () => {
  const { scene, as } = await setUp()
  const { token } = (await scene.call('create_token', { as, body: { name: 'script', scope: 'read' } })).body
  const bearer = { token, headers: { authorization: `Bearer ${token}` } }
  const streams = []
  for (let count = 0; count < 8; count++) {
    const stream = await watch(scene, [as, await scene.logIn('ada'), bearer][count % 3] as LoggedIn)
    await stream.events.next()
    streams.push(stream)
  }
  const once = async (user: LoggedIn) => {
    const { status, body } = await scene.call('watch_events', { as: user, query: { limit: '1' } })
    return [status, body?.code]
  }
  for (const user of [as, bearer, await scene.logIn('ada')])
    expect(await once(user)).toEqual([429, 'too_many_open_requests'])
  await scene.addUser('eve', 'admin')
  expect(await once(await scene.logIn('eve'))).toEqual([200, undefined])
  streams[0]?.leave()
  await expect
    .poll(async () => {
      scene.clock.advance(1_000)
      return once(as)
    })
    .toEqual([200, undefined])
})

test('many readers ask the store as seldom as one', async () => {
  const { scene } = await setUp()
  await scene.addUser('tom', 'tenant', 'acme')
  const looks = vi.spyOn(Object.getPrototypeOf(scene.store.users) as typeof scene.store.users, 'audit')
  onTestFinished(() => looks.mockRestore())
  const streams = []
  for (let reader = 0; reader < 8; reader++) {
    const stream = await watch(scene, await scene.logIn(reader % 2 === 0 ? 'ada' : 'tom'))
    await stream.events.next()
    streams.push(stream)
  }
  looks.mockClear()
  await passes(scene)
  // A look in each of five seconds, and one at the lines of the log-ins.
  expect(looks.mock.calls.length).toBeGreaterThan(0)
  expect(looks.mock.calls.length).toBeLessThanOrEqual(6)
})
