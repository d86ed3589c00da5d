import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { exampleOf } from '../../../src/schema/api/examples.ts'
import { GROUPS } from '../../../src/schema/api/introduction.ts'
import { openApi } from '../../../src/schema/api/openapi.ts'
import { API_PREFIX, OPERATION_IDS, operation } from '../../../src/schema/api/operations.ts'
import { PERMISSIONS } from '../../../src/schema/api/permissions.ts'
import { TAGS } from '../../../src/schema/api/types.ts'

const document = openApi('0.0.0') as unknown as {
  readonly paths: Record<string, Record<string, { operationId: string; security?: unknown }>>
  readonly components: { readonly schemas: Record<string, unknown> }
}

test('is OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(
    structuredClone(document) as Parameters<Validator['validate']>[0],
  )
  expect(errors ?? valid).toBe(true)
})

test('has each operation of the table once, and nothing else', () => {
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => [operationId, method.toUpperCase(), path]),
  )
  const table = OPERATION_IDS.map(id => [id, operation(id).method, `${API_PREFIX}${operation(id).path}`])
  expect(documented).toHaveLength(table.length)
  expect(new Set(documented.map(String))).toEqual(new Set(table.map(String)))
})

test('refers only to schemas that it holds, and holds none that nothing refers to', () => {
  const text = JSON.stringify(document)
  const named = new Set([...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, id]) => id))
  expect(named).toEqual(new Set(Object.keys(document.components.schemas)))
})

describe.each(OPERATION_IDS)('%s', id => {
  const { path, params, method, body, answer, ifMatch } = operation(id)

  test('declares each parameter of its path', () => {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    expect(new Set(Object.keys(params?.shape ?? {}))).toEqual(new Set(inPath))
  })

  test('has a body only where its method has one, and an answer unless it is 204', () => {
    expect({ method, hasBody: body !== undefined && (method === 'GET' || method === 'DELETE') }).toEqual({
      method,
      hasBody: false,
    })
    expect(answer.status === 204).toBe(!('schema' in answer))
  })

  test('asks for the state that it starts from where it is a change of parts', () => {
    expect(ifMatch === 'required').toBe(method === 'PATCH')
  })

  test('has no operation without a session but the log-in', () => {
    expect(PERMISSIONS[id] === 'anyone').toBe(id === 'log_in' || id === 'log_in_by_link')
  })
})

test.each(OPERATION_IDS.filter(id => operation(id).body))('%s shows a body that it would take', id => {
  const result = operation(id).body?.safeParse(exampleOf(id))
  expect(result?.error?.issues ?? []).toEqual([])
  expect(exampleOf(id)).toBeDefined()
})

test('each tag stands in one group', () => {
  expect(GROUPS.flatMap(({ tags }) => tags).toSorted()).toEqual(Object.keys(TAGS).toSorted())
})
