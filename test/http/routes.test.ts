import { describe, expect, it } from 'vitest'
import { Router } from '../../src/http/routes.ts'

const router = new Router([
  { method: 'GET', path: '/a', handler: 'get a' },
  { method: 'POST', path: '/a', handler: 'post a' },
  { method: 'GET', path: '/a/', handler: 'below a' },
  { method: 'GET', path: '/b/', handler: 'below b' },
])

describe('a router', () => {
  it('finds a path as it stands, cut at the first question mark', () => {
    expect(router.match('GET', '/a')).toEqual({ found: true, handler: 'get a', path: '/a', query: '' })
    expect(router.match('POST', '/a?x=/b?y')).toEqual({
      found: true,
      handler: 'post a',
      path: '/a',
      query: '?x=/b?y',
    })
    expect(router.match('GET', '/a?')).toEqual({ found: true, handler: 'get a', path: '/a', query: '?' })
  })

  it('finds everything below a path that ends in a slash', () => {
    expect(router.match('GET', '/a/b/c%2F?q')).toMatchObject({
      handler: 'below a',
      path: '/a/b/c%2F',
      query: '?q',
    })
    expect(router.match('GET', '/b/')).toEqual({ found: false, path: '/b/', allow: [] })
    expect(router.match('GET', '/b')).toEqual({ found: false, path: '/b', allow: [] })
  })

  it('names the methods that a path does have', () => {
    expect(router.match('PUT', '/a')).toEqual({ found: false, path: '/a', allow: ['GET', 'HEAD', 'POST'] })
    expect(router.match('POST', '/a/x')).toEqual({ found: false, path: '/a/x', allow: ['GET', 'HEAD'] })
  })

  it('finds a GET for a HEAD, and says which paths there are', () => {
    expect(router.match('HEAD', '/a')).toMatchObject({ handler: 'get a' })
    expect(['/a', '/a/x', '/b/', '/c'].map(path => router.has(path))).toEqual([true, true, false, false])
  })

  it.each(['', '/', '/A', '/a%', '//a', '/c', '/ab', 'a'])('decodes and guesses nothing: %j', target => {
    expect(router.match('GET', target)).toEqual({ found: false, path: target, allow: [] })
  })
})
