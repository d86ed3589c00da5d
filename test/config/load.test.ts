import { mkdirSync, symlinkSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { formatPlace } from '../../src/config/format.ts'
import { load } from '../../src/config/load.ts'
import type { Loaded, LoadPorts, Tree } from '../../src/config/types.ts'
import { tempDir } from '../support/temp-dir.ts'

const ports = (more: Partial<LoadPorts> = {}): LoadPorts => ({
  environment: {},
  readStdin: async () => Buffer.alloc(0),
  known: new Set(),
  ...more,
})

const loadText = (text: string, more: Partial<LoadPorts> = {}) =>
  load(['-'], ports({ readStdin: async () => Buffer.from(text), ...more }))

function treeOf(loaded: Loaded): Tree {
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems, null, 1))
  return loaded.tree
}

const specOf = (tree: Tree, name: string) => tree.resources.find(resource => resource.name === name)?.spec
const codesOf = ({ problems }: Loaded) => problems.map(({ code }) => code)

const ENDPOINT = '{protocol: openai, base_url: "http://127.0.0.1:1/v1/", served_model: m}'
const TENANT = 'version: 1\ntenants: {acme: {}}\n'

describe('a valid tree', () => {
  it('becomes canonical resources with their places, sorted by kind and name', async () => {
    const tree = treeOf(
      await loadText(
        `version: 1
set: team-a
keys:
  ci: {kind: tenant, tenant: acme, budget: {amount: 12.50, per: month}}
tenants: {acme: {}}
publications:
  gpt-4o:
    price: {input: "2.50"}
    bindings:
      - endpoint: b
      - {endpoint: a, weight: 3}
bindings:
  - {publication: later, endpoint: a}
endpoints:
  b: ${ENDPOINT}
  a: ${ENDPOINT}
settings: {limits: {body: 1024KiB}}
`,
        { known: new Set(['publication/later']) },
      ),
    )
    expect(tree.set).toBe('team-a')
    expect(tree.files).toEqual(['<stdin>'])
    expect(
      tree.resources.map(({ kind, name, place }) => `${kind} ${name} ${place.line}:${place.column}`),
    ).toEqual([
      'settings settings 17:1',
      'endpoint a 16:3',
      'endpoint b 15:3',
      'publication gpt-4o 7:3',
      'binding gpt-4o a 11:9',
      'binding gpt-4o b 10:9',
      'binding later a 13:5',
      'tenant acme 5:11',
      'key ci 4:3',
    ])
    expect(specOf(tree, 'a')).toMatchObject({
      base_url: 'http://127.0.0.1:1/v1',
      auth: 'bearer',
      enabled: true,
    })
    expect(specOf(tree, 'settings')).toMatchObject({ limits: { body: '1MiB' } })
    expect(specOf(tree, 'ci')).toMatchObject({ budget: { amount: '12.5', per: 'month', timezone: 'UTC' } })
    expect(specOf(tree, 'gpt-4o a')).toEqual({ publication: 'gpt-4o', endpoint: 'a', weight: 3, priority: 0 })
  })

  it('merges maps as written: own fields win, then the earlier of the merged', async () => {
    const tree = treeOf(
      await loadText(`version: 1
x-base: &base {status: disabled, billing: prepaid}
tenants:
  a: {<<: *base, status: active}
  b:
    <<: [*base, {status: banned, display_name: B}]
  c: &c {<<: *base, display_name: C}
  d: {<<: *c}
`),
    )
    expect(specOf(tree, 'a')).toMatchObject({ status: 'active', billing: 'prepaid' })
    expect(specOf(tree, 'b')).toMatchObject({ status: 'disabled', billing: 'prepaid', display_name: 'B' })
    expect(specOf(tree, 'd')).toMatchObject({ status: 'disabled', billing: 'prepaid', display_name: 'C' })
  })

  it('may hold anything under x- keys, because only what an alias uses is asked about', async () => {
    const unused = await loadText(`${TENANT}x-any: [.nan, "\${HOME}", {a: {b: c}}]\n`)
    expect(codesOf(unused)).toEqual([])
    const used = await loadText(
      `version: 1\nx-name: &name "\${HOME}"\ntenants: {acme: {display_name: *name}}\n`,
    )
    expect(used.problems.map(({ code, place }) => `${code} ${place.line}:${place.column}`)).toEqual([
      'variable_not_allowed 2:15',
    ])
  })

  it('takes names that JavaScript objects are born with', async () => {
    const tree = treeOf(
      await loadText('version: 1\ntenants: {constructor: {}, toString: {}, prototype: {}}\n'),
    )
    expect(tree.resources.map(({ name }) => name)).toEqual(['constructor', 'prototype', 'toString'])
    expect(Object.hasOwn(Object.prototype, 'status')).toBe(false)
  })

  it('reads plain words of YAML 1.2 as text, with or without a byte order mark, and with any line ends', async () => {
    const tree = treeOf(await loadText('\u{feff}version: 1\r\ntenants:\r\n  no: {display_name: off}\r\n'))
    expect(specOf(tree, 'no')).toMatchObject({ display_name: 'off' })
    expect(tree.resources[0]?.place).toMatchObject({ line: 3, column: 3 })
  })

  it('fills in variables: typed where unquoted and alone, text elsewhere, once, and never in names', async () => {
    const environment = {
      GW_RPM: '60',
      GW_ON: 'false',
      GW_EMPTY: '',
      GW_NESTED: '${GW_RPM} $$',
      GW_MAP: '{a: b}',
    }
    const tree = treeOf(
      await loadText(
        `version: 1
tenants:
  a:
    display_name: "\${GW_RPM} \${GW_NESTED} \${GW_EMPTY:-preset} $5 $$ $\${GW_RPM} \${GW_UNSET:-}"
    limits: {rpm: 7, tpm: 8}
  b:
    display_name: \${GW_MAP}
    limits:
      rpm: \${GW_RPM}
      tpm: \${GW_TPM:-1_000}
`.replace('1_000', '1000'),
        { environment },
      ),
    )
    expect(specOf(tree, 'a')).toMatchObject({
      display_name: '60 ${GW_RPM} $$ preset $5 $ ${GW_RPM} ',
    })
    expect(specOf(tree, 'b')).toMatchObject({ display_name: '{a: b}', limits: { rpm: 60, tpm: 1000 } })
  })

  it('may refer to what exists outside of it', async () => {
    const text = 'version: 1\nkeys: {ci: {kind: tenant, tenant: acme}}\n'
    expect(codesOf(await loadText(text))).toEqual(['unknown_reference'])
    expect(codesOf(await loadText(text, { known: new Set(['tenant/acme']) }))).toEqual([])
  })

  it('has warnings and is valid all the same', async () => {
    const loaded = await loadText('version: 1\npublications: {m: {}}\n')
    expect(loaded).toMatchObject({
      ok: true,
      problems: [{ code: 'listed_without_binding', severity: 'warning' }],
    })
  })
})

describe('files', () => {
  it('reads a directory with all that is below it, in order, but nothing hidden and no node_modules', async () => {
    const dir = tempDir(onTestFinished)
    const tenant = (name: string) => `version: 1\ntenants: {${name}: {}}\n`
    for (const file of ['b.yml', 'a.yaml', 'c/d.yaml', 'c/e/f.yml'])
      dir.write(file, tenant(file.replaceAll('/', '-')))
    for (const file of ['.hidden.yaml', '.git/x.yaml', 'node_modules/p/x.yaml', 'note.txt', 'x.json']) {
      dir.write(file, 'not: [for us')
    }
    const tree = treeOf(await load([dir.path], ports()))
    expect(tree.files).toEqual(['a.yaml', 'b.yml', 'c/d.yaml', 'c/e/f.yml'].map(file => dir.at(file)))
  })

  it('reads a Kubernetes ConfigMap mount, all of links, once', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('..2026_01_01/gw.yaml', TENANT)
    symlinkSync('..2026_01_01', dir.at('..data'))
    symlinkSync('..data/gw.yaml', dir.at('gw.yaml'))
    expect(treeOf(await load([dir.path], ports())).files).toEqual([dir.at('gw.yaml')])
  })

  it('reads a file once, however many paths and links lead to it, and survives a link to its own folder', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('a.yaml', TENANT)
    symlinkSync('a.yaml', dir.at('again.yaml'))
    mkdirSync(dir.at('sub'))
    symlinkSync('..', dir.at('sub/up'))
    expect(treeOf(await load([dir.at('a.yaml'), dir.path], ports())).files).toEqual([dir.at('a.yaml')])
  })

  it('shows names as they were given', async () => {
    const loaded = await load(['test/invalid/../nowhere.yaml'], ports())
    expect(loaded.problems.map(({ place }) => formatPlace(place))).toEqual([
      'test/invalid/../nowhere.yaml:1:1',
    ])
  })

  it('never takes nothing for a configuration', async () => {
    const dir = tempDir(onTestFinished)
    mkdirSync(dir.at('empty'))
    symlinkSync('nowhere', dir.at('dangling.yaml'))
    dir.write('linked/a.yaml', 'version: 1\n')
    symlinkSync('nowhere', dir.at('linked/team-b'))
    dir.write('text/notes.txt', 'hello')
    const codes = async (...paths: string[]) => codesOf(await load(paths, ports()))
    expect(await codes(dir.at('missing'))).toEqual(['path_unreadable'])
    expect(await codes(dir.at('empty'))).toEqual(['directory_empty'])
    expect(await codes(dir.at('text'))).toEqual(['directory_empty'])
    expect(await codes(dir.at('dangling.yaml'))).toEqual(['path_unreadable'])
    // What is behind it would be deleted.
    expect(await codes(dir.at('linked'))).toEqual(['path_unreadable'])
    expect(await codes('-')).toEqual(['file_empty'])
    expect(await load([], ports())).toMatchObject({ ok: false })
  })

  it('points at the first byte that is not UTF-8', async () => {
    const bytes = Buffer.concat([
      Buffer.from('version: 1\nset: ä'),
      Buffer.from([0xe2, 0x82]),
      Buffer.from('\n'),
    ])
    const { problems } = await load(['-'], ports({ readStdin: async () => bytes }))
    expect(problems.map(({ code, place }) => `${code} ${place.line}:${place.column}`)).toEqual([
      'not_utf8 2:7',
    ])
  })

  it('calls nothing missing that a file which could not be read may declare', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('a.yaml', 'version: 1\ntenants: {acme: {}\n')
    dir.write('b.yaml', 'version: 1\nkeys: {ci: {kind: tenant, tenant: acme}}\n')
    expect(codesOf(await load([dir.path], ports()))).toEqual(['yaml_syntax'])
    dir.write('a.yaml', Buffer.from([0xff]))
    expect(codesOf(await load([dir.path], ports()))).toEqual(['not_utf8'])
  })
})

it('finds ten different mistakes in three files at once, each at its place', async () => {
  const dir = tempDir(onTestFinished)
  dir.write(
    'endpoints.yaml',
    `version: 1
endpoints:
  openai:
    protocol: opnai
    base_ulr: https://api.openai.com/v1
    served_model: gpt-4o
    upstream_key: not-a-reference-at-all
  local:
    protocol: openai
    base_url: ftp://10.0.0.7/v1
    served_model: 4
    timeouts: {connect: 5}
`,
  )
  dir.write(
    'keys.yaml',
    `version: 1
keys:
  ci: {kind: tenant, tenant: acme}
  cd: {kind: platform, display_name: "\${GW_NOT_SET}"}
  ci: {kind: platform}
`,
  )
  dir.write(
    'models.yaml',
    `version: 2
publications:
  gpt-4o:
    bindings:
      - endpoint: opanai
`,
  )
  const { ok, problems } = await load([dir.path], ports())
  expect(ok).toBe(false)
  expect(
    problems.map(({ code, place }) => `${formatPlace(place).replace(`${dir.path}/`, '')} ${code}`),
  ).toEqual([
    'endpoints.yaml:4:15 unknown_value',
    'endpoints.yaml:5:5 unknown_field',
    'endpoints.yaml:7:19 literal_secret',
    'endpoints.yaml:10:15 value_out_of_range',
    'endpoints.yaml:11:19 wrong_type',
    'endpoints.yaml:12:25 wrong_type',
    'keys.yaml:3:30 unknown_reference',
    'keys.yaml:4:38 variable_not_set',
    'keys.yaml:5:3 duplicate_map_key',
    'models.yaml:1:10 unknown_version',
    'models.yaml:5:19 unknown_reference',
  ])
})
