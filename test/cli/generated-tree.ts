import fc from 'fast-check'

/** Text that YAML, interpolation or a terminal could misread. */
const text = fc.oneof(
  fc.constantFrom(
    'yes',
    'null',
    '1.0',
    '',
    ' ',
    '$',
    '$$',
    '${GW_X:-y}',
    'a\nb\n',
    '- a: b # c',
    '\u0085\u2028',
    '<<',
    '*a',
  ),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
)
/** Values are interpolated when they are read, so a dollar sign that means itself is written twice. */
const written = text.map(value => value.replaceAll('$', '$$$$'))
const money = fc
  .bigInt({ min: 0n, max: 10n ** 15n })
  .map(units => `${units / 1000n}.${String(units % 1000n).padStart(3, '0')}`)
const duration = fc
  .integer({ min: 1, max: 300 })
  .chain(count => fc.constantFrom(`${count}s`, `${count}000ms`, `${count}m`))
const count = fc.integer({ min: 1, max: 1_000_000 })
const optional = { requiredKeys: [] }

const endpoint = fc.record(
  {
    protocol: fc.constantFrom('openai', 'anthropic'),
    base_url: fc.constantFrom('https://api.example.com/v1', 'http://10.0.0.7:8000/'),
    served_model: written.filter(value => value !== ''),
    display_name: written,
    upstream_key: fc.constantFrom({ env: 'KEY' }, { file: '/run/secrets/$$key' }),
    enabled: fc.boolean(),
    timeouts: fc.record({ connect: fc.constantFrom('1s', '900ms', '5m'), total: duration }, optional),
    labels: fc.dictionary(fc.constantFrom('site', 'a.b', 'yes', '$'), written, { maxKeys: 3 }),
  },
  { requiredKeys: ['protocol', 'base_url', 'served_model'] },
)
const publication = (endpoints: readonly string[]) =>
  fc.record(
    {
      status: fc.constantFrom('draft', 'listed', 'banned'),
      owned_by: written,
      price: fc.record({ input: money, output: money, per_request: money }, optional),
      bindings: fc
        .subarray([...endpoints])
        .chain(names =>
          fc.tuple(
            ...names.map(name =>
              fc.record({ endpoint: fc.constant(name), weight: fc.nat(9) }, { requiredKeys: ['endpoint'] }),
            ),
          ),
        ),
    },
    optional,
  )
const key = fc.record(
  {
    kind: fc.constant('platform'),
    display_name: written,
    models: fc.array(fc.constantFrom('*', 'openai/*', '模型', '$$x'), { maxLength: 3 }),
    limits: fc.record({ rpm: count, tpm: count, concurrency: count }, optional),
    budget: fc.record({ amount: money, per: fc.constantFrom('day', 'month', 'total') }),
    expires_at: fc.constantFrom('2030-01-31T00:00:00Z', '2031-01-31T12:00:00+02:00'),
  },
  { requiredKeys: ['kind'] },
)

/** The data of a valid configuration file, of whatever set. */
export const generatedTree = fc
  .uniqueArray(fc.constantFrom('a', 'b-1', 'yes', 'null', '1.0', 'a/b:c'), { maxLength: 4 })
  .chain(endpoints =>
    fc.record(
      {
        version: fc.constant(1),
        set: fc.constantFrom('default', 'team-b'),
        settings: fc.record(
          { currency: fc.constantFrom('USD', '€'), maintenance: fc.record({ message: written }) },
          optional,
        ),
        endpoints: fc
          .constant(endpoints)
          .chain(names =>
            fc
              .tuple(...names.map(() => endpoint))
              .map(specs => Object.fromEntries(names.map((name, at) => [name, specs[at]]))),
          ),
        publications: fc.dictionary(
          fc.constantFrom('gpt', 'openai/gpt:latest', '模型', 'no', '${GW_X}', '#x', '"'),
          publication(endpoints),
          { maxKeys: 4 },
        ),
        keys: fc.dictionary(fc.constantFrom('k1', 'true', '0x1f'), key, { maxKeys: 3 }),
      },
      { requiredKeys: ['version', 'settings', 'endpoints'] },
    ),
  )
