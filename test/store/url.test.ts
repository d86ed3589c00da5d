import { expect, test } from 'vitest'
import { storePath } from '../../src/store/url.ts'

test.each([
  ['sqlite:./data/gw.db', '/home/data/gw.db'],
  ['sqlite:gw.db', '/home/gw.db'],
  ['sqlite:../gw.db', '/gw.db'],
  ['sqlite:/var/gw.db', '/var/gw.db'],
  ['sqlite:///var/gw.db', '/var/gw.db'],
  ['SQLite:gw.db', '/home/gw.db'],
  ['sqlite:with space?and=query.db', '/home/with space?and=query.db'],
])('%s is the file %s', (url, path) => {
  expect(storePath(url, '/home')).toBe(path)
})

test.each([
  'data/gw.db',
  '/data/gw.db',
  '',
  'sqlite:',
  'sqlite::memory:',
  'sqlite://host/gw.db',
  'sqlite:a\0b',
  'mysql://gw@db/gw',
])('%j is rejected as wrong usage', url => {
  expect(() => storePath(url, '/home')).toThrow(
    expect.objectContaining({ code: 'usage', hint: expect.stringContaining('sqlite:./data/gw.db') }),
  )
})

test('a password in a URL of another scheme is not repeated', () => {
  expect(() => storePath('mysql://gw:canary@db/gw', '/home')).toThrow(
    expect.objectContaining({ message: '--store has the scheme mysql: there are sqlite and postgres.' }),
  )
})
