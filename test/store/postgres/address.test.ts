import { expect, onTestFinished, test } from 'vitest'
import { nameOfAddress, parsePostgresUrl } from '../../../src/store/postgres/address.ts'
import { tempDir } from '../../support/temp-dir.ts'

const parse = (url: string) => parsePostgresUrl(url, '--store')

test.each([
  ['postgres://db.example.com/gw', 'verify-full'],
  ['postgres://10.0.0.7/gw', 'verify-full'],
  ['postgres://localhost/gw', 'disable'],
  ['postgresql://127.0.0.1:6432/gw', 'disable'],
  ['postgres://[::1]/gw', 'disable'],
  ['postgres:///gw?host=/var/run/postgresql', 'disable'],
  ['postgres://db.example.com/gw?sslmode=require', 'require'],
])('%s is reached with sslmode %s', (url, mode) => {
  expect(parse(url).tls.mode).toBe(mode)
})

test('user, password, port and database are decoded', () => {
  expect(parse('postgres://g%40w:p%2Fw@db:6432/my%20gw')).toMatchObject({
    host: 'db',
    port: 6432,
    database: 'my gw',
    user: 'g@w',
    password: 'p/w',
  })
})

test('a password may be in a file, without its line break', () => {
  const path = tempDir(onTestFinished).write('password', 'secret\n')
  expect(parse(`postgres://gw@db/gw?password_file=${path}`).password).toBe('secret')
})

test.each([
  ['postgres://gw:canary@db', 'no name of a database'],
  ['postgres://gw:canary@/gw', 'not a URL'],
  ['postgres:///gw', 'no host'],
  ['postgres://gw:canary@db/gw?sslmode=prefer', 'sslmode'],
  ['postgres://gw:canary@db/gw?ssl=true', 'ssl is unknown'],
  ['postgres://gw:canary@db/gw?sslcert=/none', 'cannot be read'],
  ['postgres://gw:canary@db/gw?password_file=/none', 'not a URL|belong|cannot be read|gw'],
])('%s is wrong usage, and its password is not repeated', (url, reason) => {
  const attempt = () => parse(url)
  if (url.includes('password_file')) return expect(attempt().password).toBe('canary')
  expect(attempt).toThrow(expect.objectContaining({ code: 'usage', message: expect.stringMatching(reason) }))
  expect(attempt).not.toThrow(/canary/)
})

test('messages name the server without user and password', () => {
  expect(nameOfAddress(parse('postgres://gw:canary@[2001:db8::1]:6432/gw'))).toBe(
    'postgres://[2001:db8::1]:6432/gw',
  )
})
