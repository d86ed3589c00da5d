import { expect, test } from 'vitest'
import { keyDigest } from '../../src/base/api-key.ts'
import { render } from '../../src/config/render.ts'
import { encode, KINDS } from '../../src/schema/kinds.ts'
import { fieldChanges } from '../../src/services/changes/fields.ts'
import { compile, describe as sourceName } from '../../src/snapshot/compile.ts'

const spec = (headers: object) =>
  encode(
    'endpoint',
    KINDS.endpoint.parse({
      protocol: 'openai',
      base_url: 'http://127.0.0.1:9/v1',
      served_model: 'm',
      headers,
    }),
  )
const REFERENCES = { 'api-key': { env: 'AZURE_KEY' }, 'x-region': 'eu', 'x.team': { file: '/run/team' } }

test('a header that refers to a secret is sent with it, and its value is known as one', () => {
  const resource = { kind: 'endpoint', name: 'azure', spec: spec(REFERENCES), createdAtMs: 0 } as const
  const state = { revision: 1, keyVersion: 0, resources: [resource], secrets: [], suspendedKeys: [] }
  const asked: string[] = []
  const compiled = compile(state, source => {
    asked.push(sourceName(source))
    return keyDigest(sourceName(source))
  })
  if (!compiled.ok) throw new Error(compiled.problems.join('; '))
  const entry = compiled.snapshot.endpoints.get('azure')
  const secrets = [keyDigest('env:AZURE_KEY'), keyDigest('file:/run/team')]
  expect(asked).toEqual(['env:AZURE_KEY', 'file:/run/team'])
  expect(entry?.secrets).toEqual(secrets)
  expect(entry?.headers).toEqual(['api-key', secrets[0], 'x-region', 'eu', 'x.team', secrets[1]])
})

test('a header whose secret is missing is named by its field, and nothing is served', () => {
  const resource = { kind: 'endpoint', name: 'azure', spec: spec(REFERENCES), createdAtMs: 0 } as const
  const state = { revision: 1, keyVersion: 0, resources: [resource], secrets: [], suspendedKeys: [] }
  expect(compile(state, () => new Error('the variable AZURE_KEY is not set'))).toEqual({
    ok: false,
    problems: [
      'endpoint azure: headers.api-key: the variable AZURE_KEY is not set',
      'endpoint azure: headers.x.team: the variable AZURE_KEY is not set',
    ],
  })
})

test('a plan says that a header’s reference changed, an export keeps the reference', () => {
  const changes = fieldChanges(
    'endpoint',
    spec({ 'api-key': { env: 'OLD' }, 'x-region': 'eu' }),
    spec(REFERENCES),
  )
  expect(changes).toEqual([
    { path: 'headers.api-key', type: 'secret' },
    { path: 'headers["x.team"]', type: 'secret' },
  ])
  const yaml = render('default', [{ kind: 'endpoint', name: 'azure', spec: spec(REFERENCES) }])
  expect(yaml).toContain('env: AZURE_KEY')
})
