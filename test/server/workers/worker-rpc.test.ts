import { MessageChannel } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { ApiError } from '../../../src/base/catalogue/api.ts'
import { CommandError } from '../../../src/base/catalogue/command.ts'
import { callsOver, endCalls } from '../../../src/server/workers/worker-rpc.ts'

interface There {
  ask(question: unknown): unknown
  hear(line: string): void
}

/** Two sides of one port, and what this one hears. */
function setUp(ask: (question: unknown) => unknown) {
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  const heard: string[] = []
  callsOver<object, There>(port2, { ask, hear: line => void heard.push(line) })
  return { calls: callsOver<There, object>(port1, {}), heard }
}

const thrower = (thrown: unknown) =>
  setUp(() => {
    throw thrown
  }).calls.ask(1)

test('an answer that is data arrives as it is', async () => {
  const answer = { map: new Map([['a', 1n]]), none: undefined, list: [{ at: new Date(5) }] }
  expect(await setUp(question => ({ question, answer })).calls.ask('x')).toEqual({ question: 'x', answer })
})

test('an error for clients arrives as what it was', async () => {
  const thrown = new ApiError('busy', 'Come later.', {
    errors: [{ pointer: '/a', detail: 'b' }],
    retryAfterMs: 5,
    headers: { allow: 'GET' },
    more: { line: 3 },
    cause: new CommandError('store_unavailable', 'no store', { cause: new Error('disk') }),
  })
  const error = await thrower(thrown).catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(ApiError)
  expect(error).toMatchObject({
    code: thrown.code,
    errors: thrown.errors,
    retryAfterMs: thrown.retryAfterMs,
    headers: thrown.headers,
    more: thrown.more,
    message: 'Come later.',
    stack: thrown.stack,
    cause: { code: 'store_unavailable', message: 'no store', cause: { message: 'disk' } },
  })
  expect((error as ApiError).cause).toBeInstanceOf(CommandError)
})

test('an error for operators arrives with its hint', async () => {
  const error = await thrower(
    new CommandError('address_unavailable', 'taken', { hint: 'another port' }),
  ).catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(CommandError)
  expect(error).toMatchObject({ code: 'address_unavailable', message: 'taken', hint: 'another port' })
})

test('an error of the system keeps its name and code, and whatever else was thrown is an error', async () => {
  const system = Object.assign(new RangeError('listen'), { code: 'EADDRINUSE' })
  await expect(thrower(system)).rejects.toMatchObject({ name: 'RangeError', code: 'EADDRINUSE' })
  await expect(thrower('text')).rejects.toThrow('text')
})

/** What became of a call whose other side throws that. */
const rejection = (thrown: unknown) =>
  thrower(thrown).then(
    () => 'resolved' as const,
    (error: unknown) => error as Error,
  )

function circle(): Error {
  const [one, other] = [new Error('one'), new Error('other')]
  one.cause = other
  other.cause = one
  return one
}

function chain(length: number): Error {
  let error = new Error('0')
  for (let link = 1; link < length; link++) error = new Error(String(link), { cause: error })
  return error
}

/** An error on which that member cannot be looked at. */
const guarded = (member: string, error: Error = new Error('guarded')) =>
  Object.defineProperty(error, member, {
    get() {
      throw new Error('not to be looked at')
    },
  })

const bare = () => Object.create(null) as object
const withMember = (member: string, value: unknown, error: Error = new Error('odd')) =>
  Object.defineProperty(error, member, { value })

test.each<readonly [string, () => unknown, string]>([
  ['a circle of causes', circle, 'one'],
  ['a chain of 20,000 causes', () => chain(20_000), '19999'],
  ['a cause that cannot be put into words', () => new Error('outer', { cause: bare() }), 'outer'],
  ['what cannot be put into words', bare, 'cannot be serialized'],
  ['a symbol', () => Symbol('a sign'), 'Symbol(a sign)'],
  ['a function', () => () => 1, '() => 1'],
  ['a message that is a function', () => withMember('message', () => 1), 'cannot be serialized'],
  ['a stack that is a function', () => withMember('stack', () => 1), 'odd'],
  ['a name that is a function', () => withMember('name', () => 1), 'odd'],
  [
    'a hint that is a function',
    () => withMember('hint', () => 1, new CommandError('store_unavailable')),
    'cannot be serialized',
  ],
  ['a message that cannot be looked at', () => guarded('message'), 'cannot be serialized'],
  ['a stack that cannot be looked at', () => guarded('stack'), 'cannot be serialized'],
  ['a cause that cannot be looked at', () => guarded('cause'), 'cannot be serialized'],
  ['a code that cannot be looked at', () => guarded('code'), 'cannot be serialized'],
  ['a proxy that has been revoked', revoked, 'cannot be serialized'],
])('no caller waits for ever for an error that cannot be sent: %s', async (_what, thrown, message) => {
  const error = await rejection(thrown())
  expect(error).toBeInstanceOf(Error)
  expect(error).toMatchObject({ message: expect.stringContaining(message) })
})

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

test.each<readonly [string, unknown, string]>([
  ['undefined', undefined, 'undefined'],
  ['null', null, 'null'],
  ['false', false, 'false'],
  ['zero', 0, '0'],
  ['an empty text', '', ''],
])('what is thrown is no answer, also where it is %s', async (_what, thrown, message) => {
  expect(await rejection(thrown)).toMatchObject({ message })
  const later = setUp(() => Promise.reject(thrown)).calls.ask(1)
  await expect(later).rejects.toMatchObject({ message })
})

test('the rest of an error is sent where a detail of it cannot be', async () => {
  const thrown = new ApiError('busy', 'Come later.', {
    retryAfterMs: 5,
    more: { line: 3, put: () => 1 },
    cause: 'a word',
  })
  const error = await rejection(thrown)
  expect(error).toBeInstanceOf(ApiError)
  expect(error).toMatchObject({ code: 'busy', message: 'Come later.', retryAfterMs: 5, more: undefined })
  expect(error).toHaveProperty('cause.message', 'a word')
})

test('of causes those that are near are sent, each once', async () => {
  const messages = (error: unknown): string[] =>
    error instanceof Error ? [error.message, ...messages(error.cause)] : []
  expect(messages(await rejection(chain(5)))).toEqual(['4', '3', '2', '1', '0'])
  expect(messages(await rejection(chain(100)))).toHaveLength(9)
  expect(messages(await rejection(circle()))).toEqual(['one', 'other'])
})

test('the side that threw what cannot be sent answers the next one', async () => {
  const odd: unknown = bare()
  const { calls } = setUp(question => {
    if (question === 'odd') throw odd
    return question
  })
  await expect(calls.ask('odd')).rejects.toThrow('cannot be serialized')
  expect(await calls.ask('even')).toBe('even')
})

test('an answer that is no data is a fault of the call, and the next one is answered', async () => {
  const { calls } = setUp(question => (question === 'odd' ? () => 1 : question))
  await expect(calls.ask('odd')).rejects.toThrow('could not be cloned')
  expect(await calls.ask('even')).toBe('even')
})

test.each<readonly [string, unknown, string]>([
  ['an error', new Error('not to be looked at'), 'not to be looked at'],
  ['nothing', undefined, 'undefined'],
])('an answer that throws %s while it is sent is a fault of the call', async (_what, thrown, message) => {
  const answer = Object.defineProperty({}, 'odd', {
    enumerable: true,
    get() {
      throw thrown
    },
  })
  await expect(setUp(() => answer).calls.ask(1)).rejects.toMatchObject({ message })
})

test('a question that is no data is a fault of who asks', async () => {
  await expect(setUp(String).calls.ask(() => 1)).rejects.toThrow('could not be cloned')
})

test('what is sent arrives in its order, and before the answer of what is asked behind it', async () => {
  const { calls, heard } = setUp(() => [...heard])
  const lines = Array.from({ length: 100 }, (_, index) => String(index))
  for (const line of lines) void calls.hear.asEvent(line)
  expect(await calls.ask('what')).toEqual(lines)
})

test('no caller waits for a side that has ended', async () => {
  const { calls } = setUp(() => new Promise(() => undefined))
  const waiting = calls.ask(1)
  const shown = expect(waiting).rejects.toThrow('has ended')
  endCalls(calls, new Error('the thread has ended'))
  await shown
  await expect(calls.ask(2)).rejects.toThrow('closed')
})
