import { describe, expect, test } from 'vitest'
import { environmentProxies, parseProxy } from '../../src/base/proxies.ts'

const VARIABLES = { HTTPS_PROXY: 'http://secure:1', http_proxy: 'plain:2' }

describe('the proxy of an origin, by the environment', () => {
  test('goes by the scheme of the origin, in either case of letters; ALL_PROXY stands in', () => {
    const of = environmentProxies(VARIABLES)
    expect([of('https://a.example'), of('http://a.example')]).toEqual(['http://secure:1', 'http://plain:2'])
    expect(environmentProxies({ ALL_PROXY: 'http://all:3' })('https://a.example')).toBe('http://all:3')
    expect(environmentProxies({})('https://a.example')).toBeUndefined()
  })

  test.each([
    ['*', 'https://a.example', false],
    ['a.example', 'https://a.example', false],
    ['a.example', 'https://sub.a.example:8443', false],
    ['.a.example', 'https://sub.a.example', false],
    ['*.a.example', 'https://sub.a.example', false],
    ['a.example', 'https://ba.example', true],
    ['a.example:8443', 'https://a.example', true],
    ['a.example:443', 'https://a.example', false],
    ['localhost, 127.0.0.1', 'http://127.0.0.1:8000', false],
    ['[::1]', 'http://[::1]:8000', false],
    ['::1', 'http://[::1]:8000', false],
    ['A.EXAMPLE', 'https://a.example.', false],
    ['', 'https://a.example', true],
  ])('with NO_PROXY=%s: %s by a proxy: %s', (entry, origin, isProxied) => {
    expect(environmentProxies({ ...VARIABLES, NO_PROXY: entry })(origin) !== undefined).toBe(isProxied)
  })
})

test('an address of a proxy may hold a user and a password, and no path', () => {
  expect(parseProxy('http://us%40r:p%3Aw@proxy:3128')).toEqual({
    origin: 'http://proxy:3128',
    authorization: `Basic ${Buffer.from('us@r:p:w').toString('base64')}`,
  })
  expect(parseProxy('http://proxy:3128/')).toEqual({ origin: 'http://proxy:3128' })
  for (const wrong of ['proxy:3128', 'socks5://proxy', 'http://proxy/path', '']) {
    expect(parseProxy(wrong), wrong).toBeUndefined()
  }
})
