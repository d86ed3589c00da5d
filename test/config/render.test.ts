import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSecretHeader } from '../../src/base/secret-shapes.ts'
import { isStorable } from '../../src/base/storable-text.ts'
import { load } from '../../src/config/load.ts'
import { render } from '../../src/config/render.ts'
import {
  bindingName,
  type CanonicalSpec,
  decode,
  encode,
  KIND_NAMES,
  type Kind,
  type Resource,
} from '../../src/schema/kinds.ts'

const TRICKY = [
  'yes',
  'no',
  'null',
  'true',
  '~',
  '1.0',
  '0x1f',
  'y',
  'constructor',
  'toString',
  'a:',
  'version',
]
const anyText = fc.oneof(
  fc.constantFrom(
    ...TRICKY,
    '',
    ' ',
    '$',
    '$$',
    '${GW_X}',
    '$${GW_X:-y}',
    'a\nb\n',
    '\tx\r\n',
    '- a',
    'a: b # c',
    '\u{feff}x',
    '\u0085\u2028',
    '"\'\\',
    '%YAML 1.1',
    '---',
    '<<',
    '&a *b !c',
  ),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 40 }).filter(isStorable),
)
const safeName = fc.oneof(
  fc.constantFrom(...TRICKY.filter(name => name !== '~')),
  fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._@:/-]{0,20}$/),
)
const modelName = fc.oneof(
  fc.constantFrom(
    ...TRICKY,
    '$',
    '${GW_X}',
    '$$',
    '<<',
    '"',
    '*',
    '&a',
    'openai/gpt-4o:latest',
    '模型',
    '#x',
    '{',
  ),
  fc.stringMatching(/^[^\s\p{C}]{1,30}$/u),
)
const nano = fc.bigInt({ min: 0n, max: 10n ** 21n })
const durationMs = fc.integer({ min: 1, max: 300_000 })
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const whole = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }))
const some = <T>(fields: T) =>
  Object.fromEntries(Object.entries(fields as object).filter(([, v]) => v !== undefined)) as T
const limits = fc.record({ rpm: maybe(whole), tpm: maybe(whole), concurrency: maybe(whole) }).map(some)
const variable = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,9}$/)
const secret = fc.oneof(
  variable.map(env => ({ env })),
  anyText.map(text => ({ file: `/${text}` })),
)
const label = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter(key => key !== '__proto__')
const header = fc.stringMatching(/^[a-z0-9!#$%&'*+.^_`|~-]{1,12}$/).map(name => `x-${name}`)

const specs = {
  settings: fc.record({
    maintenance: fc.record({ enabled: fc.boolean(), message: anyText }),
    limits: fc.record({ body: fc.integer({ min: 1_024, max: 1_073_741_824 }) }),
    cors: fc.record({
      origins: fc.subarray(['https://app.example.com', 'http://localhost:3000', 'http://[::1]:8080']),
    }),
    log: fc.record({ retention: fc.integer({ min: 3_600_000, max: 10 ** 11 }), embeddings: fc.boolean() }),
    responses: fc.record({ retention: fc.integer({ min: 86_400_000, max: 10 ** 10 }) }),
    ledger: fc.record({ durability: fc.constantFrom('power', 'kill') }),
    revisions: fc.record({
      retention: fc.integer({ min: 86_400_000, max: 10 ** 11 }),
      keep: fc.integer({ min: 100, max: 10_000 }),
    }),
    health: fc.record({
      unhealthy_after: fc.constantFrom(3, 7),
      probe_min: durationMs,
      probe_max: durationMs,
    }),
    on_disconnect: fc.constantFrom('abort', 'drain'),
    on_upstream_error: fc.constantFrom('charge', 'free'),
    show_endpoints: fc.boolean(),
    require_price: fc.boolean(),
    output_cap: fc.constantFrom('none', 'max_tokens', 'max_completion_tokens'),
    currency: fc.constantFrom('USD', '€', '$', 'yes'),
    nodes: fc.record({ admission: fc.constantFrom('declared', 'token') }),
  }),
  node: fc
    .record({
      display_name: maybe(anyText),
      labels: fc.dictionary(label, anyText, { maxKeys: 3 }),
      engines: maybe(fc.constantFrom(['vllm'], ['a', 'b-1'])),
    })
    .map(some),
  endpoint: fc
    .record({
      nodes: maybe(
        fc
          .record({
            labels: maybe(fc.constant({ pool: 'h100' })),
            names: fc.constant(['n']),
            engine: fc.constant('vllm'),
          })
          .map(some),
      ),
      protocol: fc.constantFrom('openai', 'anthropic'),
      display_name: maybe(anyText),
      base_url: fc.constantFrom('https://api.example.com/v1', 'http://10.0.0.7:8000', 'http://[::1]:1/$x'),
      served_model: anyText.filter(text => text !== ''),
      upstream_key: maybe(secret),
      auth: fc.constantFrom('bearer', 'x-api-key'),
      enabled: fc.boolean(),
      skip_probe: fc.boolean(),
      timeouts: fc.record({
        connect: durationMs,
        first_byte: durationMs,
        idle: fc.constant(120_000),
        total: durationMs,
      }),
      max_concurrency: maybe(whole),
      paths: maybe(fc.subarray(['/v1/chat/completions', '/v1/embeddings'] as const, { minLength: 1 })),
      tls: maybe(fc.record({ ca: maybe(secret), cert: secret, key: secret }).map(some)),
      // A name such as `x-key` makes a longer value look like a secret, which no file may contain.
      headers: fc
        .dictionary(header, fc.stringMatching(/^[\t -~]{0,20}$/), { maxKeys: 3 })
        .filter(headers => !Object.entries(headers).some(([name, value]) => isSecretHeader(name, value))),
      labels: fc.dictionary(label, anyText, { maxKeys: 3 }),
    })
    // Fields that go with one protocol, or with https.
    .map(({ paths, tls, nodes, base_url, max_concurrency, ...spec }) =>
      some({
        ...spec,
        ...(nodes ? { nodes, max_concurrency_per_node: max_concurrency } : { base_url, max_concurrency }),
        paths: spec.protocol === 'openai' ? paths : undefined,
        tls: !nodes && base_url.startsWith('https:') ? tls : undefined,
      }),
    ),
  publication: fc
    .record({
      status: fc.constantFrom('draft', 'listed', 'unlisted', 'banned'),
      display_name: maybe(anyText),
      owned_by: fc.oneof(fc.constant('gw'), anyText),
      price: maybe(
        fc.record({ input: maybe(nano), output: maybe(nano), per_request: maybe(nano) }).map(some),
      ),
      max_input_tokens: maybe(whole),
      max_output_tokens: maybe(whole),
      on_disconnect: maybe(fc.constantFrom('abort', 'drain')),
      on_upstream_error: maybe(fc.constantFrom('charge', 'free')),
      output_cap: maybe(fc.constantFrom('none', 'max_tokens', 'max_completion_tokens')),
    })
    .map(some),
  tenant: fc
    .record({
      display_name: maybe(anyText),
      status: fc.constantFrom('active', 'disabled', 'banned'),
      models: fc.oneof(fc.constant(['*']), fc.array(modelName, { maxLength: 3 })),
      banned_models: fc.array(modelName, { maxLength: 3 }),
      limits,
      billing: fc.constantFrom('postpaid', 'prepaid'),
    })
    .map(some),
  key: fc
    .record({
      kind: fc.constant('platform'),
      display_name: maybe(anyText),
      models: fc.oneof(fc.constant(['*']), fc.array(modelName, { maxLength: 3 })),
      limits,
      quota: maybe(whole),
      budget: maybe(
        fc.record({
          amount: nano,
          per: fc.constantFrom('day', 'month', 'total'),
          timezone: fc.constantFrom('UTC', 'Europe/Berlin'),
        }),
      ),
      expires_at: maybe(fc.integer({ min: 0, max: 4e12 })),
      enabled: fc.boolean(),
      secret: maybe(secret),
    })
    .map(some),
} as const

const isName = (name: string) => !['__proto__', '.', '..'].includes(name)
const tree: fc.Arbitrary<Resource[]> = fc
  .record({
    settings: maybe(specs.settings),
    nodes: fc.dictionary(safeName.filter(isName), specs.node, { maxKeys: 2 }),
    endpoints: fc.dictionary(safeName.filter(isName), specs.endpoint, { minKeys: 1, maxKeys: 3 }),
    publications: fc.dictionary(modelName.filter(isName), specs.publication, { maxKeys: 3 }),
    tenants: fc.dictionary(safeName.filter(isName), specs.tenant, { maxKeys: 2 }),
    keys: fc.dictionary(safeName.filter(isName), specs.key, { maxKeys: 3 }),
    weight: fc.constantFrom(0, 1, 7),
    isTenantKey: fc.boolean(),
  })
  .map(({ settings, nodes, endpoints, publications, tenants, keys, weight, isTenantKey }) => {
    const resources: Resource[] = []
    const add = (kind: Kind, name: string, spec: object) =>
      resources.push({ kind, name, spec: encode(kind, spec as never) })
    if (settings) add('settings', 'settings', settings)
    for (const [name, spec] of Object.entries(nodes)) add('node', name, spec)
    for (const [name, spec] of Object.entries(endpoints)) add('endpoint', name, spec)
    for (const [name, spec] of Object.entries(publications)) add('publication', name, spec)
    for (const publication of Object.keys(publications)) {
      for (const endpoint of Object.keys(endpoints)) {
        add('binding', bindingName(publication, endpoint), {
          publication,
          endpoint,
          weight,
          priority: weight,
        })
      }
    }
    for (const [name, spec] of Object.entries(tenants)) add('tenant', name, spec)
    const [tenant] = Object.keys(tenants)
    for (const [name, spec] of Object.entries(keys)) {
      add('key', name, isTenantKey && tenant !== undefined ? { ...spec, kind: 'tenant', tenant } : spec)
    }
    return resources
  })

async function readBack(yaml: string, known: readonly string[] = []) {
  const loaded = await load(['-'], {
    environment: {},
    readStdin: async () => Buffer.from(yaml),
    known: new Set(known),
  })
  if (!loaded.ok) throw new Error(`${JSON.stringify(loaded.problems, null, 1)}\n${yaml}`)
  return loaded.tree
}

const sorted = (resources: readonly Resource[]) =>
  resources
    .map(({ kind, name, spec }) => ({ kind, name, spec }))
    .sort((a, b) => KIND_NAMES.indexOf(a.kind) - KIND_NAMES.indexOf(b.kind) || (a.name < b.name ? -1 : 1))

describe('render', () => {
  it('writes any valid resources so that they load as the same resources', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(tree, fc.constantFrom('default', 'team-a'), async (resources, set) => {
        const back = await readBack(render(set, resources))
        expect(back.set).toBe(set)
        expect(sorted(back.resources)).toEqual(sorted(resources))
      }),
      { numRuns: 300 },
    )
  })

  it('writes a file that is the same when it is written again', async () => {
    await fc.assert(
      fc.asyncProperty(tree, async resources => {
        const once = render('default', sorted(resources))
        const back = await readBack(once)
        expect(render(back.set, back.resources)).toBe(once)
      }),
      { numRuns: 50 },
    )
  })

  it('leaves out what the defaults say, and writes bindings where they belong', () => {
    const spec = (kind: Kind, raw: CanonicalSpec) => encode(kind, decode(kind, raw))
    const endpoint = {
      protocol: 'openai',
      base_url: 'http://a/v1',
      served_model: 'm',
      timeouts: { idle: '9s' },
    }
    const yaml = render('default', [
      { kind: 'endpoint', name: 'a', spec: spec('endpoint', endpoint) },
      { kind: 'publication', name: 'm', spec: spec('publication', { price: { input: '0.5' } }) },
      { kind: 'binding', name: 'm a', spec: spec('binding', { publication: 'm', endpoint: 'a' }) },
      {
        kind: 'binding',
        name: 'later a',
        spec: spec('binding', { publication: 'later', endpoint: 'a', weight: 2 }),
      },
      { kind: 'tenant', name: 'acme', spec: spec('tenant', {}) },
      { kind: 'key', name: 'ci', spec: spec('key', { kind: 'tenant', tenant: 'acme', models: ['a$b'] }) },
    ])
    expect(yaml).toBe(`version: 1
endpoints:
  a:
    protocol: openai
    base_url: http://a/v1
    served_model: m
    timeouts:
      idle: 9s
publications:
  m:
    price:
      input: "0.5"
    bindings:
      - endpoint: a
tenants:
  acme: {}
keys:
  ci:
    kind: tenant
    tenant: acme
    models: ["a$$b"]
bindings:
  - publication: later
    endpoint: a
    weight: 2
`)
  })
})
