import { describe, expect, test } from 'vitest'
import { editedFile, type ResourceEdit, unifiedDiff } from '../../src/config/edit.ts'
import { encode, KINDS } from '../../src/schema/kinds.ts'

const FILE = `version: 1
# The keys of two teams.
x-base: &base
  kind: tenant
keys:
  blue: # production
    <<: *base
    tenant: acme
    limits:
      rpm: 60 # agreed in May
      tpm: \${GW_TPM:-1000}
    models: [chat]

  green: { kind: tenant, tenant: "acme", limits: { rpm: 5 } }
publications:
  chat:
    bindings:
      - endpoint: one
        weight: 3
      - endpoint: two
tenants:
  acme:
    billing: prepaid
`

const spec = (kind: ResourceEdit['kind'], fields: object) => encode(kind, KINDS[kind].parse(fields) as never)
const blue = (more: object = {}) =>
  spec('key', {
    kind: 'tenant',
    tenant: 'acme',
    limits: { rpm: 60, tpm: 1_000 },
    models: ['chat'],
    ...more,
  })

/** The lines that an edit adds and removes. */
function changedLines(edit: ResourceEdit): string[] {
  const after = editedFile(FILE, edit) ?? ''
  return unifiedDiff('keys.yaml', FILE, after)
    .split('\n')
    .filter(line => /^[+-](?![+-])/.test(line))
}

describe('an edit of a file', () => {
  test('replaces the line of a field, and keeps comments, variables and all others', () => {
    const after = blue({ limits: { rpm: 90, tpm: 1_000 } })
    expect(changedLines({ kind: 'key', name: 'blue', before: blue(), after })).toEqual([
      '-      rpm: 60 # agreed in May',
      '+      rpm: 90 # agreed in May',
    ])
  })

  test('adds a field behind the last one', () => {
    const after = blue({ budget: { amount: '5', per: 'month' } })
    expect(changedLines({ kind: 'key', name: 'blue', before: blue(), after })).toEqual([
      '+    budget:',
      '+      amount: "5"',
      '+      per: month',
      '+      timezone: UTC',
    ])
  })

  test('removes the lines of a field that has its default again', () => {
    const after = blue({ models: ['*'] })
    expect(changedLines({ kind: 'key', name: 'blue', before: blue(), after })).toEqual([
      '-    models: [chat]',
    ])
  })

  test('writes a map in braces anew', () => {
    const before = spec('key', { kind: 'tenant', tenant: 'acme', limits: { rpm: 5 } })
    const after = spec('key', { kind: 'tenant', tenant: 'acme', limits: { rpm: 7 }, quota: 9 })
    expect(changedLines({ kind: 'key', name: 'green', before, after })).toEqual([
      '-  green: { kind: tenant, tenant: "acme", limits: { rpm: 5 } }',
      '+  green: { kind: tenant, tenant: "acme", limits: { rpm: 7 }, quota: 9 }',
    ])
  })

  test('finds a binding in the list of its publication', () => {
    const binding = (weight: number) => spec('binding', { publication: 'chat', endpoint: 'one', weight })
    const edit = { kind: 'binding', name: 'chat one', before: binding(3), after: binding(0) } as const
    expect(changedLines(edit)).toEqual(['-        weight: 3', '+        weight: 0'])
  })

  test('removes a resource, and a section with its last one', () => {
    expect(changedLines({ kind: 'key', name: 'blue', before: blue() })[0]).toBe('-  blue: # production')
    expect(changedLines({ kind: 'tenant', name: 'acme', before: spec('tenant', {}) })).toEqual([
      '-tenants:',
      '-  acme:',
      '-    billing: prepaid',
    ])
  })

  test('is left to people where the file does not declare the resource', () => {
    expect(editedFile(FILE, { kind: 'key', name: 'red', before: blue(), after: blue() })).toBeUndefined()
    expect(editedFile('not: [yaml', { kind: 'key', name: 'red', before: blue() })).toBeUndefined()
  })
})

describe('a unified diff', () => {
  test('has three lines around a change, and counts them', () => {
    const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', ''].join('\n')
    expect(unifiedDiff('f.yaml', before, before.replace('e', 'E\nE'))).toBe(
      [
        '--- a/f.yaml',
        '+++ b/f.yaml',
        '@@ -2,7 +2,8 @@',
        ' b',
        ' c',
        ' d',
        '-e',
        '+E',
        '+E',
        ' f',
        ' g',
        ' h',
        '',
      ].join('\n'),
    )
  })

  test('of a new file begins at line 0', () => {
    expect(unifiedDiff('f.yaml', '', 'a\n')).toBe('--- a/f.yaml\n+++ b/f.yaml\n@@ -0,0 +1,1 @@\n+a\n')
    expect(unifiedDiff('f.yaml', 'a\n', 'a\n')).toBe('')
  })
})
