import { describe, expect, it } from 'vitest'
import { formatProblem, problemJson } from '../../src/config/format.ts'
import { load } from '../../src/config/load.ts'

async function firstProblem(text: string) {
  const { problems } = await load(['-'], {
    environment: {},
    readStdin: async () => Buffer.from(text),
    known: new Set(),
  })
  const [problem] = problems
  if (problem === undefined) throw new Error('expected a problem')
  return problem
}

const MISSPELT = 'version: 1\ntenants:\n  acme:\n    staus: active\n    limits: {}\n    billing: prepaid\n'

describe('formatProblem', () => {
  it('shows place, code, message, the lines around with a marker, and how to hint it', async () => {
    expect(
      formatProblem(await firstProblem(MISSPELT), { colour: false }),
    ).toBe(`<stdin>:4:5 GW1202 error tenants.acme: unknown field \`staus\`
    2 | tenants:
    3 |   acme:
  > 4 |     staus: active
      |     ^^^^^
    5 |     limits: {}
    6 |     billing: prepaid
  hint: did you mean \`status\`?`)
  })

  it('says the same in colour', async () => {
    const problem = await firstProblem(MISSPELT)
    const coloured = formatProblem(problem, { colour: true })
    expect(coloured).toContain('\u001b[31merror\u001b[0m')
    const escape = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g')
    expect(coloured.replaceAll(escape, '')).toBe(formatProblem(problem, { colour: false }))
  })

  it('names the other place of two that collide', async () => {
    const problem = await firstProblem('version: 1\ntenants:\n  a: {}\n  a: {}\n')
    expect(formatProblem(problem, { colour: false })).toContain('\n  see also: <stdin>:3:3\n')
    expect(problemJson(problem)).toMatchObject({
      line: 4,
      column: 3,
      other: { file: '<stdin>', line: 3, column: 3 },
    })
  })

  it('lets no file steer the terminal or reorder its lines', async () => {
    const text = 'version: 1\ntenants:\n  "\\e[31ma": {x\u001b[2J\u202e: 1}\n'
    const shown = formatProblem(await firstProblem(text), { colour: false })
    expect(shown.includes('\u001b') || shown.includes('\u202e')).toBe(false)
  })

  it('cuts a long line around the marker', async () => {
    const problem = await firstProblem(
      `version: 1\ntenants: {a: {display_name: "${'x'.repeat(900)}", staus: x}}\n`,
    )
    const marked = problem.frame?.split('\n') ?? []
    expect(Math.max(...marked.map(line => line.length))).toBeLessThan(140)
    const line = marked.find(shown => shown.startsWith('>')) ?? ''
    const marker = marked.find(shown => shown.includes('^')) ?? ''
    expect(line.slice(marker.indexOf('^'), marker.lastIndexOf('^') + 1)).toBe('staus')
  })

  it('keeps the marker under its range behind a hidden secret', async () => {
    const all = await load(['-'], {
      environment: {},
      readStdin: async () =>
        Buffer.from('version: 1\nkeys: {a: {kind: platform, api_key: "a-long-secret-of-mine", quot: 1}}\n'),
      known: new Set(),
    })
    const drawn = all.problems.find(({ message }) => message.includes('quot'))?.frame?.split('\n') ?? []
    const line = drawn.find(shown => shown.startsWith('>')) ?? ''
    const marker = drawn.find(shown => shown.includes('^')) ?? ''
    expect(line).toContain('api_key: ********,')
    expect(line.slice(marker.indexOf('^'), marker.lastIndexOf('^') + 1)).toBe('quot')
  })
})
