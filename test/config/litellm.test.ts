import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { isMap, isScalar, isSeq, parseDocument, parse as parseYaml } from 'yaml'
import { load } from '../../src/config/load.ts'
import { formatPath, type Path } from '../../src/config/path.ts'
import { wholeWeights } from '../../src/services/litellm/assembled.ts'
import { type Imported, importLitellm } from '../../src/services/litellm/import.ts'
import { shifted } from '../../src/services/litellm/money.ts'

const FOLDER = fileURLToPath(new URL('litellm', import.meta.url))
const CASES = readdirSync(FOLDER).filter(file => file.endsWith('.yaml'))

/** From stdin, so that any text can be imported. */
async function imported(text: string, prices = false): Promise<Imported> {
  const outcome = await importLitellm('-', { readStdin: async () => Buffer.from(text) }, { prices })
  if (!outcome.ok) throw new Error(outcome.problems.map(({ message }) => message).join('; '))
  return outcome.imported
}

const read = (file: string) => readFileSync(join(FOLDER, file), 'utf8')

/** All notes, as one text. */
function shown({ left, notes }: Imported): string {
  const lines = [
    ...notes.map(({ place, text }) => `${place.line}: ${text}`),
    '-- not carried',
    ...left.map(({ place, field, why }) => `${place.line}: ${field}: ${why}`),
  ]
  return `${lines.join('\n')}\n`
}

describe.each(CASES)('%s of LiteLLM', file => {
  const text = read(file)

  it('becomes a configuration that validates', async () => {
    const { yaml, resources } = await imported(text)
    const readStdin = async () => Buffer.from(yaml)
    const loaded = await load(['-'], { environment: {}, known: new Set(), readStdin })
    expect(loaded.problems).toEqual([])
    expect(loaded.ok && loaded.tree.resources).toHaveLength(resources.length)
    await expect(yaml).toMatchFileSnapshot(`golden/litellm/${file}`)
  })

  it('tells with its line what was not carried', async () => {
    await expect(shown(await imported(text))).toMatchFileSnapshot(
      `golden/litellm/${file.replace('.yaml', '.txt')}`,
    )
  })

  it('gives no secret away', async () => {
    const result = await imported(text)
    for (const canary of text.match(/[\w@:-]*canary[\w@-]*/g) ?? []) {
      if (canary.startsWith('canary@example')) continue // a header that is no secret
      expect(result.yaml).not.toContain(canary)
      expect(shown(result)).not.toContain(canary)
    }
  })

  it('drops no field in silence: one that is not listed makes a difference', async () => {
    const before = await imported(text)
    const listed = before.left.map(({ field }) => field)
    const remarked = new Set(before.notes.map(({ place }) => place.line))
    const silent: string[] = []
    for (const path of leaves(text)) {
      const field = formatPath(path)
      if (listed.some(each => field === each || field.startsWith(`${each}.`) || field.startsWith(`${each}[`)))
        continue
      const document = parseDocument(text, { merge: true })
      const node = document.getIn(path, true)
      if (!isScalar(node) || remarked.has(lineOf(text, node.range?.[0] ?? 0))) continue
      document.setIn(path, changed(node.value))
      const after = await imported(String(document)).catch(() => undefined)
      if (after && after.yaml === before.yaml && withoutLines(after) === withoutLines(before))
        silent.push(field)
    }
    expect(silent).toEqual([])
  })
})

function withoutLines(result: Imported): string {
  return shown(result).replaceAll(/^\d+: /gm, '')
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

function changed(value: unknown): unknown {
  if (typeof value === 'number') return value * 2 + 1
  if (typeof value === 'boolean') return !value
  return /^\d+$/.test(String(value)) ? String(Number(value) + 1) : `${String(value)}x`
}

/** Paths of all scalars that are written in the text, but those below anchors that only merges use. */
function leaves(text: string): readonly Path[] {
  const found: Path[] = []
  const walk = (node: unknown, path: Path): void => {
    if (isMap(node)) {
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? String(key.value) : ''
        if (name !== '<<') walk(value, [...path, name])
      }
    } else if (isSeq(node)) for (const [at, item] of node.items.entries()) walk(item, [...path, at])
    else if (isScalar(node) && node.value !== null) found.push(path)
  }
  walk(parseDocument(text).contents, [])
  return found
}

describe('a file that is no configuration of LiteLLM', () => {
  it.each([
    ['version: 1\nendpoints: {}\n', 'model_list'],
    ['model_list: [', ''],
    ['- 1\n', 'model_list'],
  ])('is rejected with its place: %j', async (text, word) => {
    const outcome = await importLitellm('-', { readStdin: async () => Buffer.from(text) })
    expect(outcome.ok).toBe(false)
    if (!outcome.ok) {
      expect(outcome.problems[0]?.message).toContain(word)
      expect(outcome.problems[0]?.place.line).toBe(1)
    }
  })
})

interface Fields {
  readonly base_url?: unknown
  readonly served_model?: unknown
  readonly upstream_key?: unknown
  readonly headers?: unknown
  readonly max_concurrency?: unknown
  readonly priority?: unknown
  readonly weight?: unknown
}

/** The fields of each resource of an import, by kind and name. */
async function converted(text: string, prices = false) {
  const result = await imported(text, prices)
  const readStdin = async () => Buffer.from(result.yaml)
  const loaded = await load(['-'], { environment: {}, known: new Set(), readStdin })
  expect(loaded.ok, loaded.problems.map(({ message }) => message).join()).toBe(true)
  const fields = new Map(result.resources.map(({ kind, name, spec }) => [`${kind}/${name}`, spec as Fields]))
  return { fields, text: shown(result), yaml: result.yaml }
}

/** A file of entries; each is the inside of `litellm_params`, and what follows it. */
const file = (...entries: readonly string[]) =>
  `model_list:\n${entries.map(entry => `  - ${entry}`).join('\n')}\n`

describe('what a literal import would do with the money and the secrets of others', () => {
  it('a generated variable is none that the file or a vendor has in use', async () => {
    const { fields } = await converted(
      file(
        '{model_name: openai, litellm_params: {model: openai/foo, api_base: "https://proxy.example/v1", api_key: sk-1234567890abcdef}}',
        '{model_name: gpt-4o, litellm_params: {model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY}}',
      ),
    )
    expect(fields.get('endpoint/openai-proxy')).toMatchObject({ upstream_key: { env: 'OPENAI_API_KEY_2' } })
    expect(fields.get('endpoint/openai')).toMatchObject({ upstream_key: { env: 'OPENAI_API_KEY' } })
  })

  it('says of each fallback and later entry that it is billed at another price than its own', async () => {
    const { text } = await converted(
      `${file(
        '{model_name: cheap, litellm_params: {model: openai/gpt-4o-mini, input_cost_per_token: 1.5e-7}}',
        '{model_name: cheap, litellm_params: {model: openai/o1}}',
        '{model_name: big, litellm_params: {model: openai/gpt-4o, input_cost_per_token: 2.5e-6}}',
      )}litellm_settings: {fallbacks: [{cheap: [big]}]}\n`,
    )
    expect(text).toContain('3: `o1` is billed at the price of the first entry of `cheap`')
    expect(text).toContain('calls of `cheap` that it answers are billed at the price of `cheap`')
  })

  it('copies no header that may be a secret', async () => {
    const headers =
      '{X-Pass: hunter2, X-Hash: deadbeefdeadbeefdeadbeef, X-Team: blue, X-Title: my app, "X Bad": v, X-On: true}'
    const { fields, text, yaml } = await converted(
      file(`{model_name: m, litellm_params: {model: openai/gpt-4o, extra_headers: ${headers}}}`),
    )
    expect(yaml).not.toMatch(/hunter2|deadbeef/)
    expect(fields.get('endpoint/openai')?.headers).toEqual({
      'X-Hash': { env: 'M_X_HASH' },
      'X-Pass': { env: 'M_X_PASS' },
      'X-Team': 'blue',
      'X-Title': 'my app',
    })
    expect(text.match(/copied as it is/g)).toHaveLength(1)
    expect(text).toContain('HTTP allows no such header')
    expect(text).toContain('a header has a text')
  })

  it('keeps the concurrency of each deployment', async () => {
    const vllm = 'api_base: "http://gpu:8000/v1", max_parallel_requests: 8'
    const { fields } = await converted(
      file(
        `{model_name: a, litellm_params: {model: hosted_vllm/a, ${vllm}}}`,
        `{model_name: b, litellm_params: {model: hosted_vllm/b, ${vllm}}}`,
      ),
    )
    const limited = [...fields].filter(([, spec]) => spec.max_concurrency === 8)
    expect(limited.map(([name]) => name)).toEqual(['endpoint/hosted-vllm-gpu', 'endpoint/hosted-vllm-gpu-2'])
  })

  it.each([
    [
      [0.9, 0.1],
      [9, 1],
    ],
    [
      [5_000_000, 1_000_000],
      [5, 1],
    ],
    [
      [0.5, 0, 0.25],
      [2, 0, 1],
    ],
    [
      [1, 3],
      [1, 3],
    ],
    [
      [1e9, 1],
      [1_000_000, 1],
    ],
    [
      [0.1, 0.2, 0.7],
      [1, 2, 7],
    ],
  ])('weights of any scale keep their proportions: %j', (weights, whole) => {
    expect(wholeWeights(weights.map(weight => ({ weight }))).map(({ weight }) => weight)).toEqual(whole)
  })
})

describe('an address', () => {
  it.each([
    ['azure/gpt', 'https://x.openai.azure.com/openai/', 'https://x.openai.azure.com/openai/v1'],
    ['azure/gpt', 'https://x.openai.azure.com', 'https://x.openai.azure.com/openai/v1'],
    ['azure/gpt', 'https://x.openai.azure.com/openai/v1/', 'https://x.openai.azure.com/openai/v1'],
    ['anthropic/claude', 'https://proxy.example/v1/messages', 'https://proxy.example/v1'],
    ['anthropic/claude', 'https://proxy.example', 'https://proxy.example/v1'],
  ])('of %s is %s with what its requests need', async (model, base, expected) => {
    const { fields } = await converted(
      file(`{model_name: m, litellm_params: {model: ${model}, api_base: "${base}", api_key: os.environ/K}}`),
    )
    const [endpoint] = [...fields].filter(([name]) => name.startsWith('endpoint/'))
    expect(endpoint?.[1].base_url).toBe(expected)
  })

  it('in two variables of nearly the same name stays in two', async () => {
    const { yaml } = await converted(
      file(
        '{model_name: a, litellm_params: {model: openai/a, api_base: os.environ/A_B}}',
        '{model_name: b, litellm_params: {model: openai/b, api_base: os.environ/a_b}}',
      ),
    )
    expect(yaml).toContain('${GW_A_B:-https://a-b.invalid}')
    expect(yaml).toContain('${GW_a_b:-https://a-b-2.invalid}')
  })

  it('of its own gets no key of the vendor, which is said', async () => {
    const { fields, text } = await converted(
      file('{model_name: m, litellm_params: {model: deepseek/chat, api_base: "https://other.example/beta"}}'),
    )
    expect([...fields.values()].some(spec => spec.upstream_key)).toBe(false)
    expect(text).toContain('it gets no credential: that of DEEPSEEK_API_KEY belongs to api.deepseek.com')
  })
})

describe('names', () => {
  it.each([
    ['azure/o_series/my-o3', 'my-o3'],
    ['openai/responses/gpt-5', 'gpt-5'],
  ])('%s is served as %s', async (model, served) => {
    const { fields } = await converted(
      file(
        `{model_name: m, litellm_params: {model: ${model}, api_base: "https://x.example", api_key: os.environ/K}}`,
      ),
    )
    const [endpoint] = [...fields].filter(([name]) => name.startsWith('endpoint/'))
    expect(endpoint?.[1].served_model).toBe(served)
  })

  it.each(['gemini-1.5-pro', 'anthropic.claude-3-5-sonnet-20240620-v1:0'])(
    'a name without a provider that OpenAI does not have goes to no vendor: %s',
    async model => {
      const { fields, text } = await converted(file(`{model_name: m, litellm_params: {model: "${model}"}}`))
      expect([...fields.keys()].filter(name => name.startsWith('endpoint/'))).toEqual([])
      expect(text).toContain('write `provider/model`')
    },
  )

  it('a template within an address, a key or a header is not copied', async () => {
    const { fields, text, yaml } = await converted(
      file(
        '{model_name: a, litellm_params: {model: openai/a, api_base: "https://x.example/${TENANT}/v1"}}',
        '{model_name: b, litellm_params: {model: openai/b, api_key: "sk-${SUFFIX}"}}',
        '{model_name: c, litellm_params: {model: openai/c, extra_headers: {X-Team: "team ${TEAM}"}}}',
      ),
    )
    expect([...fields.keys()].filter(name => name.startsWith('publication/'))).toEqual(['publication/c'])
    expect(yaml).not.toMatch(/TENANT|SUFFIX|TEAM/)
    expect(text.match(/fill in the template first/g)).toHaveLength(3)
  })

  it('a template is read as the variable that fills it in, and is no name', async () => {
    const { fields, text } = await converted(
      file(
        '{model_name: m, litellm_params: {model: openai/gpt-4o, api_key: "${MY_KEY}"}}',
        '{model_name: "${GW_X}", litellm_params: {model: openai/gpt-4o}}',
      ),
    )
    expect(fields.get('endpoint/openai')).toMatchObject({ upstream_key: { env: 'MY_KEY' } })
    expect(text).toContain('`model_name`: LiteLLM does not fill in `${…}`')
  })
})

describe('fallbacks', () => {
  const A = '{model_name: a, litellm_params: {model: openai/a, api_key: os.environ/K}}'
  const B = '{model_name: b, litellm_params: {model: openai/b, api_key: os.environ/K, order: 2}}'

  it('to a model that has only later deployments are kept', async () => {
    const { fields } = await converted(`${file(A, B)}litellm_settings: {fallbacks: [{a: [b]}]}\n`)
    const bindings = [...fields].filter(([name]) => name.startsWith('binding/a '))
    expect(bindings.map(([, spec]) => spec.priority)).toEqual([0, 1])
  })

  it('have weights of their own tier alone', async () => {
    const entry = (name: string, weight: number, host: string) =>
      `{model_name: ${name}, litellm_params: {model: openai/${name}, api_base: "https://${host}.example/v1", weight: ${weight}}}`
    const { fields } = await converted(
      `${file(
        entry('a', 0.7, 'one'),
        entry('a', 0.3, 'two'),
        entry('b', 200_000, 'three'),
        entry('b', 100_000, 'four'),
      )}litellm_settings: {fallbacks: [{a: [b]}]}\n`,
    )
    const weights = [...fields]
      .filter(([name]) => name.startsWith('binding/a '))
      .map(([, { weight }]) => weight)
    expect(weights).toEqual([7, 3, 200_000, 100_000])
  })

  it('at the other address of a limited account share one endpoint', async () => {
    const { fields } = await converted(
      `${file(
        '{model_name: c1, litellm_params: {model: anthropic/claude-1}}',
        '{model_name: c2, litellm_params: {model: anthropic/claude-2}}',
        '{model_name: z, litellm_params: {model: deepseek/deepseek-chat, max_parallel_requests: 5}}',
      )}litellm_settings: {fallbacks: [{c1: [z]}, {c2: [z]}]}\n`,
    )
    const limited = [...fields].filter(([, spec]) => spec.max_concurrency === 5)
    expect(limited.map(([name]) => name)).toEqual(['endpoint/deepseek', 'endpoint/deepseek-anthropic'])
  })

  it('of an alias are its own, beside those of its model', async () => {
    const { fields, text } = await converted(
      `${file(A, B)}router_settings: {model_group_alias: {x: a, y: b}}\nlitellm_settings: {fallbacks: [{x: [y]}]}\n`,
    )
    const count = (name: string) =>
      [...fields.keys()].filter(key => key.startsWith(`binding/${name} `)).length
    expect([count('a'), count('x')]).toEqual([1, 2])
    expect(text).not.toContain('no model of that name')
  })
})

describe('a value that gw cannot hold', () => {
  it.each([
    ['maximum_spend_logs_retention_period', 'general_settings: {maximum_spend_logs_retention_period: "0d"}'],
    [
      'maximum_spend_logs_retention_period',
      'general_settings: {maximum_spend_logs_retention_period: "99999999d"}',
    ],
    ['model_group_alias', 'router_settings: {model_group_alias: {"gpt 4": m}}'],
  ])('is reported with its field: %s', async (field, rest) => {
    const { text } = await converted(
      `${file('{model_name: m, litellm_params: {model: openai/gpt-4o}}')}${rest}\n`,
    )
    expect(text.split('-- not carried')[1]).toContain(field)
  })

  it.each([
    '{model_name: __proto__, litellm_params: {model: openai/gpt-4o}}',
    '{model_name: m, litellm_params: {model: openai/}}',
    '{model_name: m, litellm_params: {model: openai/x, api_base: "https://$HOST/v1"}}',
    '{model_name: m, litellm_params: {model: openai/x, api_base: "localhost:8000/v1"}}',
    '{model_name: m, litellm_params: {model: openai/x, api_base: "ftp://x/v1"}}',
  ])('leaves out its entry, and the rest is imported: %s', async entry => {
    const { fields, text } = await converted(
      file(entry, '{model_name: other, litellm_params: {model: openai/gpt-4o}}'),
    )
    expect([...fields.keys()].filter(name => name.startsWith('publication/'))).toEqual(['publication/other'])
    expect(text.split('-- not carried')[1]).toContain('model_list[0]')
  })

  it.each(['', '# only this\n'])('an empty file is an error that says so: %j', async text => {
    await expect(imported(text)).rejects.toThrow('nothing but white space and comments')
  })
})

describe('money for a token', () => {
  it.each([
    ['1.5e-7', '0.15'],
    ['0.0000025', '2.5'],
    ['1e-5', '10'],
    ['.000001', '1'],
    ['0.00000013', '0.13'],
    ['0', '0'],
    ['6E-5', '60'],
    ['1.23456789e-15', undefined],
    ['-1e-6', undefined],
    ['much', undefined],
  ])('%s is %s for a million, exactly', (text, amount) => {
    expect(shifted(text, 6)).toBe(amount)
  })
})

describe('a configuration of LiteLLM in gw', () => {
  const model = (name: string, params: string, more = '') =>
    `  - model_name: ${name}\n    litellm_params: { ${params} }\n${more}`
  const yamlOf = async (text: string, prices = false) => parseYaml((await imported(text, prices)).yaml)

  it.each([
    ['router_settings: { timeout: 90 }', { first_byte: '90s', idle: '90s' }],
    ['litellm_settings: { request_timeout: 600 }', { first_byte: '10m', idle: '10m' }],
    // Longer than the longest exchange by default, which would cut what LiteLLM does not.
    ['router_settings: { timeout: 6000 }', { first_byte: '100m', idle: '100m', total: '1d' }],
  ])(
    '%s bounds the silence of an upstream, never the length of a stream that goes on',
    async (line, timeouts) => {
      const { endpoints } = await yamlOf(`model_list:\n${model('a', 'model: openai/a')}${line}\n`)
      expect(endpoints).toMatchObject({ openai: { timeouts } })
      expect(Object.keys(endpoints.openai.timeouts)).toEqual(Object.keys(timeouts))
    },
  )

  it('says of each model without a price that its calls are free, and which ones are listed', async () => {
    const { notes } = await imported(
      `model_list:\n${model('mine', 'model: openai/gpt-4o-mini')}${model('own', 'model: openai/own')}`,
    )
    expect(notes.map(({ place, text }) => `${place.line}: ${text}`)).toEqual([
      expect.stringMatching(/^2: `mine` has no price: its calls are free.*--prices takes that of 20/),
      '4: `own` has no price: its calls are free, and counted as unpriced',
    ])
  })

  it('takes listed prices with --prices, names their day, and leaves a price of the file alone', async () => {
    const text = `model_list:\n${model('mine', 'model: openai/gpt-4o-mini')}${model('dear', 'model: openai/gpt-4o, input_cost_per_token: 0.00001')}`
    const { publications } = await yamlOf(text, true)
    expect(publications.mine.price).toEqual({ input: '0.15', output: '0.6', cached_input: '0.075' })
    expect(publications.dear.price).toEqual({ input: '10' })
    const { notes } = await imported(text, true)
    expect(notes.map(note => note.text)).toEqual([
      expect.stringMatching(/^`mine` has the price of 20\d\d-\d\d-\d\d \(https:/),
    ])
  })

  it('lets a fallback of another protocol stand in at the OpenAI-compatible address of its vendor, and says so', async () => {
    const text = `model_list:\n${model('gpt', 'model: openai/gpt')}${model('claude', 'model: anthropic/claude')}router_settings:\n  fallbacks: [{ gpt: [claude] }]\n`
    const { endpoints, publications } = await yamlOf(text)
    expect(endpoints['anthropic-openai']).toMatchObject({
      protocol: 'openai',
      base_url: 'https://api.anthropic.com/v1',
      served_model: 'claude',
      upstream_key: { env: 'ANTHROPIC_API_KEY' },
    })
    expect(publications.gpt.bindings).toEqual([
      { endpoint: 'openai' },
      { endpoint: 'anthropic-openai', priority: 1 },
    ])
    const { notes, left } = await imported(text)
    expect(left).toEqual([])
    expect(notes).toContainEqual(
      expect.objectContaining({
        text: expect.stringContaining('a second endpoint, Anthropic, OpenAI-compatible'),
      }),
    )
  })

  it('sends the key of a proxy in between to no vendor: such a fallback is left, with its reason', async () => {
    const text = `model_list:\n${model('gpt', 'model: openai/gpt')}${model('claude', 'model: anthropic/claude, api_base: "https://proxy.example"')}router_settings:\n  fallbacks: [{ gpt: [claude] }]\n`
    const { left, yaml } = await imported(text)
    expect(left.map(({ why }) => why)).toEqual([expect.stringContaining('of another protocol')])
    expect(yaml).not.toContain('anthropic-openai')
  })

  it('has a tenant and a key, so that it can be called at once', async () => {
    const { tenants, keys } = await yamlOf(`model_list:\n${model('a', 'model: openai/a')}`)
    expect(tenants).toEqual({ 'my-team': {} })
    expect(keys).toEqual({ 'my-app': { kind: 'tenant', tenant: 'my-team' } })
  })
})
