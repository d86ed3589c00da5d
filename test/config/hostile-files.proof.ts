import { closeSync, ftruncateSync, openSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { formatProblem } from '../../src/config/format.ts'
import { load } from '../../src/config/load.ts'
import { tempDir } from '../support/temp-dir.ts'

/** Generous: what is rejected is rejected in milliseconds, and the largest file that is not takes two seconds. */
const BOUND_MS = 15_000
const MIB = 1_048_576

const fill = (piece: string, bytes = 8 * MIB) => piece.repeat(Math.floor(bytes / piece.length))

async function codesOf(text: string): Promise<string[]> {
  const { problems } = await load(['-'], {
    environment: {},
    readStdin: async () => Buffer.from(text),
    known: new Set(),
  })
  for (const problem of problems) expect(formatProblem(problem, { colour: false }).length).toBeLessThan(2_000)
  return [...new Set(problems.map(({ code }) => code))]
}

const WHOLE_FILES: Record<string, { text: () => string; code: string }> = {
  'open brackets': { text: () => fill('['), code: 'nesting_too_deep' },
  'nested flow maps': { text: () => fill('{a: '), code: 'nesting_too_deep' },
  'nested lists on one line': { text: () => fill('- '), code: 'nesting_too_deep' },
  'nested keys': { text: () => fill('? '), code: 'nesting_too_deep' },
  'a staircase of maps': {
    text: () => Array.from({ length: 5_000 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join(''),
    code: 'nesting_too_deep',
  },
  'closing brackets': { text: () => fill(']'), code: 'yaml_syntax' },
  'anchors on one value': { text: () => fill('&a '), code: 'yaml_syntax' },
  'tags on one value': { text: () => fill('! '), code: 'yaml_syntax' },
  'empty documents': { text: () => fill('---\n'), code: 'several_documents' },
  directives: { text: () => fill('%a\n'), code: 'yaml_directive' },
  'one word': { text: () => fill('x', 16 * MIB), code: 'wrong_type' },
  'one quoted text without an end': { text: () => `"${fill('x')}`, code: 'yaml_syntax' },
  'white space': { text: () => fill(' '), code: 'file_empty' },
  'comments without end': { text: () => fill('#\n'), code: 'file_too_large' },
  'keys without end': { text: () => fill('a: b\n'), code: 'file_too_large' },
  'commas without end': { text: () => `[${fill('a,')}`, code: 'file_too_large' },
  'a name of eight megabytes': { text: () => `version: 1\n${fill('x')}: 1\n`, code: 'yaml_syntax' },
  'dollars without end': {
    text: () => `version: 1\ntenants: {acme: {display_name: "${fill('${')}"}}\n`,
    code: 'malformed_interpolation',
  },
  'a value that looks like one long secret': {
    text: () => `version: 1\nset: "${fill('key: sk-')}"\n`,
    code: 'value_out_of_range',
  },
}

describe('a hostile file is rejected before it can stall the gateway', () => {
  it.each(Object.entries(WHOLE_FILES))('%s', async (_, { text, code }) => {
    const startMs = performance.now()
    expect(await codesOf(text())).toEqual([code])
    expect(performance.now() - startMs).toBeLessThan(BOUND_MS)
  })

  it('a file of 100 MB, which is not even opened', async () => {
    const dir = tempDir(onTestFinished)
    const file = openSync(dir.at('big.yaml'), 'w')
    ftruncateSync(file, 100 * MIB)
    closeSync(file)
    const before = process.memoryUsage().rss
    const ports = { environment: {}, readStdin: async () => Buffer.alloc(0), known: new Set<string>() }
    const { problems } = await load([dir.path], ports)
    expect(problems.map(({ code }) => code)).toEqual(['file_too_large'])
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * MIB)
  })

  it('an alias bomb of a thousand levels', async () => {
    const levels = Array.from({ length: 1_000 }, (_, at) => `x-${at + 1}: &l${at + 1} [*l${at}, *l${at}]\n`)
    expect(await codesOf(`version: 1\nx-0: &l0 [x]\n${levels.join('')}`)).toEqual(['alias_limit'])
  })

  it('many aliases of a large map that few would be allowed of', async () => {
    const large = Array.from({ length: 10_000 }, (_, at) => `k${at}: v`).join(', ')
    const uses = (count: number) => Array.from({ length: count }, (_, at) => `x-${at}: *large\n`).join('')
    const text = (count: number) => `version: 1\nx-l: &large {${large}}\n${uses(count)}tenants: {acme: {}}\n`
    expect(await codesOf(text(10))).toEqual([])
    expect(await codesOf(text(100))).toEqual(['alias_limit'])
  })

  it('a map that is wrong twenty thousand times, in three ways', async () => {
    const lines = (line: (at: number) => string) =>
      Array.from({ length: 10_000 }, (_, at) => line(at)).join('')
    const labels = lines(at => `      l${at}: ${at % 2 ? '.nan' : 7}\n`)
    const fields = lines(at => `    field${at}: 1\n`)
    const startMs = performance.now()
    const codes = await codesOf(`version: 1\nendpoints:\n  a:\n    labels:\n${labels}${fields}`)
    expect(codes).toEqual(['missing_field', 'wrong_type', 'value_out_of_range'])
    expect(performance.now() - startMs).toBeLessThan(BOUND_MS)
  })

  it('ten thousand duplicate keys, of which the first five hundred are listed', async () => {
    const text = `version: 1\ntenants:\n${'  acme: {}\n'.repeat(10_001)}`
    const { problems } = await load(['-'], {
      environment: {},
      readStdin: async () => Buffer.from(text),
      known: new Set(),
    })
    expect(problems.length).toBe(500)
    expect(problems.at(-1)?.message).toContain('(and 9500 more in this file)')
  })

  it('reads five thousand keys of a real size without complaint', async () => {
    const key = (at: number) =>
      `  key-${at}:\n    kind: tenant\n    tenant: acme\n    display_name: Key ${at}\n    models: [gpt-4o, "claude-*"]\n    limits: {rpm: 60, tpm: 100000, concurrency: 4}\n    budget: {amount: 12.50, per: month}\n    expires_at: 2027-01-31T00:00:00Z\n`
    const keys = Array.from({ length: 5_000 }, (_, at) => key(at)).join('')
    const startMs = performance.now()
    const text = `version: 1\ntenants: {acme: {}}\npublications: {gpt-4o: {status: draft}}\nkeys:\n${keys}`
    expect(await codesOf(text)).toEqual([])
    expect(performance.now() - startMs).toBeLessThan(BOUND_MS)
  })
})
