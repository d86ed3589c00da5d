import { expect, test } from 'vitest'
import { GwError } from '../../src/base/catalogue/wire.ts'
import { GatheredLines } from '../../src/base/gathered-lines.ts'
import { createLog } from '../../src/base/log.ts'
import { readableLines } from '../../src/base/readable-lines.ts'
import { testClock } from '../support/test-clock.ts'

function logged(pretty: boolean, write: (log: ReturnType<typeof createLog>) => void): string {
  let text = ''
  const destination = {
    write: (line: string) => {
      text += line
    },
  }
  write(createLog(destination, { level: 'info', pretty: pretty && readableLines, colour: false }))
  return text
}

test('a line is one JSON object, control characters escaped', () => {
  const text = logged(false, log => log.info({ key: 'a\nb\u001b[31m' }, 'said'))
  expect(text.split('\n')).toHaveLength(2)
  expect(JSON.parse(text)).toMatchObject({ level: 'info', key: 'a\nb\u001b[31m', msg: 'said' })
})

test('on a terminal it is a line for people', () => {
  const text = logged(true, log => log.info({ revision: 3 }, 'serving revision'))
  expect(text).toMatch(/^\[.*\] INFO: serving revision \{"revision":3\}\n$/)
})

test('of an error only its words are written, never what hangs on it', () => {
  const cause = Object.assign(new Error('rejected'), {
    code: 'ECONNREFUSED',
    headers: { authorization: 'sk-canary' },
  })
  const text = logged(false, log => log.error({ err: new Error('failed', { cause }) }, 'said'))
  expect(JSON.parse(text)).toMatchObject({
    err: { message: 'failed', cause: { message: 'rejected', code: 'ECONNREFUSED' } },
  })
  expect(text).not.toContain('canary')
})

test('an error that clients get is logged with its reason', () => {
  const text = logged(false, log =>
    log.error(
      { err: new GwError('unavailable', undefined, { reason: 'the store has not answered' }) },
      'said',
    ),
  )
  expect(JSON.parse(text)).toMatchObject({ err: { type: 'GwError', reason: 'the store has not answered' } })
})

test('a line whose fields are JSON already is like any other', () => {
  const text = logged(false, log => {
    log.written(() => '"path":"/a\\nb","status":200', 'request')
    log.info({ path: '/a\nb', status: 200 }, 'request')
  })
  const [one, other] = text.split('\n')
  expect(one?.replace(/"time":"[^"]+"/, '')).toBe(other?.replace(/"time":"[^"]+"/, ''))
})

test('a line whose fields are JSON already keeps to the level, below which they are not asked for', () => {
  let text = ''
  const log = createLog(
    { write: line => void (text += line) },
    { level: 'warn', pretty: false, colour: false },
  )
  log.written(() => expect.unreachable('no reader'), 'request')
  expect(text).toBe('')
})

test('an error is not left among gathered lines', () => {
  const clock = testClock()
  const written: string[] = []
  const lines = new GatheredLines(text => void written.push(text), clock)
  const log = createLog(lines, { level: 'info', pretty: false, colour: false })
  log.info('one')
  expect(written).toEqual([])
  log.error('two')
  expect(written).toHaveLength(1)
  expect(written[0]).toMatch(/one.*\n.*two.*\n$/)
})
