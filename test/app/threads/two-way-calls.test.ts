import { MessageChannel } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { callsOver, endCalls } from '../../../src/app/threads/two-way-calls.ts'
import { ApiError } from '../../../src/base/catalogue/api.ts'
import { CommandError } from '../../../src/base/catalogue/command.ts'

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

test('what clients are told of arrives as what it was', async () => {
  const thrown = new ApiError('busy', 'Come later.', {
    errors: [{ pointer: '/a', detail: 'b' }],
    retryAfterMs: 5,
    headers: { allow: 'GET' },
    more: { line: 3 },
    cause: new CommandError('GW2001', 'no store', { cause: new Error('disk') }),
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
    cause: { code: 'GW2001', message: 'no store', cause: { message: 'disk' } },
  })
  expect((error as ApiError).cause).toBeInstanceOf(CommandError)
})

test('what operators are told of arrives with its hint', async () => {
  const error = await thrower(new CommandError('GW4008', 'taken', { hint: 'another port' })).catch(
    (caught: unknown) => caught,
  )
  expect(error).toBeInstanceOf(CommandError)
  expect(error).toMatchObject({ code: 'GW4008', message: 'taken', hint: 'another port' })
})

test('an error of the system keeps its name and code, and whatever else was thrown is an error', async () => {
  const system = Object.assign(new RangeError('listen'), { code: 'EADDRINUSE' })
  await expect(thrower(system)).rejects.toMatchObject({ name: 'RangeError', code: 'EADDRINUSE' })
  await expect(thrower('text')).rejects.toThrow('text')
})

test('an answer that is no data is a fault of the call, and the next one is answered', async () => {
  const { calls } = setUp(question => (question === 'odd' ? () => 1 : question))
  await expect(calls.ask('odd')).rejects.toThrow('could not be cloned')
  expect(await calls.ask('even')).toBe('even')
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

test('nobody waits for a side that has ended', async () => {
  const { calls } = setUp(() => new Promise(() => undefined))
  const waiting = calls.ask(1)
  const told = expect(waiting).rejects.toThrow('has ended')
  endCalls(calls, new Error('the thread has ended'))
  await told
  await expect(calls.ask(2)).rejects.toThrow('closed')
})
