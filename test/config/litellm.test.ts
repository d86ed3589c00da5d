import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { isMap, isScalar, isSeq, parseDocument, parse as parseYaml } from 'yaml'
import { load } from '../../src/config/load.ts'
import { formatPath, type Path } from '../../src/config/path.ts'
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
