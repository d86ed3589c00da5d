import { expect, test } from 'vitest'
import { createLog } from '../../src/base/log.ts'

function logged(pretty: boolean, write: (log: ReturnType<typeof createLog>) => void): string {
  let text = ''
  const destination = {
    write: (line: string) => {
      text += line
    },
  }
  write(createLog(destination, { level: 'info', pretty, colour: false }))
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
  const cause = Object.assign(new Error('refused'), {
    code: 'ECONNREFUSED',
    headers: { authorization: 'sk-canary' },
  })
  const text = logged(false, log => log.error({ err: new Error('failed', { cause }) }, 'said'))
  expect(JSON.parse(text)).toMatchObject({
    err: { message: 'failed', cause: { message: 'refused', code: 'ECONNREFUSED' } },
  })
  expect(text).not.toContain('canary')
})
