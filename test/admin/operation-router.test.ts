import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OperationRouter } from '../../src/admin/operation-router.ts'
import { API_PREFIX, OPERATION_IDS, operation } from '../../src/schema/api/operations.ts'
import { modelName, name } from '../../src/schema/scalars.ts'

const router = new OperationRouter()
const get = (path: string) => router.match('GET', `/api/v1${path}`)

test.each(OPERATION_IDS)('finds %s by its method and path', id => {
  const { method, path } = operation(id)
  const match = router.match(method, `${API_PREFIX}${path.replace(/\{\w+\}/g, 'x')}`)
  expect(match).toMatchObject({ found: true, id })
})

test('every name that a resource can have has one path, and it leads back to the name', () => {
  const names = fc.string({ unit: 'grapheme', minLength: 1 }).filter(text => {
    return name.safeParse(text).success || modelName.safeParse(text).success
  })
  fc.assert(
    fc.property(names, text => {
      expect(get(`/publications/${encodeURIComponent(text)}`)).toMatchObject({ params: { name: text } })
    }),
  )
  expect(get('/publications/openai%2Fgpt-4o%3Alatest')).toMatchObject({
    params: { name: 'openai/gpt-4o:latest' },
  })
  expect(get('/publications/openai%2fgpt-4o:latest')).toMatchObject({
    params: { name: 'openai/gpt-4o:latest' },
  })
})

describe('matches nothing', () => {
  test.each([
    '/keys/',
    '/keys//',
    '/keys/a/',
    '/keys/a/b/c',
    '//keys',
    '/Keys',
    '/keys/%',
    '/keys/%zz',
    '/keys/%ff',
    '/keys/%61', // `a`, spelled in another way
    '/keys/a+b',
    '/keys/a;b',
    '/keys/a\\b',
    '/keys/ä',
  ])('%s', path => {
    expect(get(path)).toMatchObject({ found: false, allow: [] })
  })

  test('outside of its prefix', () => {
    for (const path of ['/', '/keys', '/api/v2/keys', '/api/v1', '/v1/keys', '/api/v1/../v1/keys'])
      expect(router.match('GET', path)).toMatchObject({ found: false })
  })
})

test('a path that is there says which methods it has', () => {
  expect(router.match('PUT', '/api/v1/keys')).toEqual({ found: false, allow: ['GET', 'POST'] })
  expect(router.match('HEAD', '/api/v1/keys')).toEqual({ found: false, allow: ['GET', 'POST'] })
})
