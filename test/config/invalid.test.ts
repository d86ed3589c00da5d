import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CONFIG_FAULTS } from '../../src/base/catalogue/config.ts'
import { formatPlace, formatProblem, problemJson } from '../../src/config/format.ts'
import { load } from '../../src/config/load.ts'
import type { Problem } from '../../src/config/types.ts'
import { tempDir } from '../support/temp-dir.ts'

const FOLDER = join(import.meta.dirname, '../invalid')
const ENVIRONMENT = { GW_NUMBER: '60', GW_TEXT: 'plain', GW_EMPTY: '', GW_SECRET: 'canary-5ecret-value' }
const FILE_LINE = /^--- file: (.*)$/

const cases = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.yaml'))
  .sort()

function parseCase(text: string): { files: Map<string, string>; expected: string[] } {
  const [input = '', rest = ''] = text.split(/^-{10,}\n/m)
  const files = new Map<string, string>()
  let name = 'gw.yaml'
  for (const line of input.split(/(?<=\n)/)) {
    const next = FILE_LINE.exec(line.trimEnd())?.[1]
    if (next !== undefined) files.set((name = next), '')
    else files.set(name, (files.get(name) ?? '') + line)
  }
  return { files, expected: rest.split('\n').filter(line => line !== '') }
}

/** The problem as an expectation, shortened to the parts that `expected` asks for. */
function describeLike(expected: string | undefined, problem: Problem, folder: string): string {
  const { code, severity, message, place } = problem
  const hint = problemJson(problem).hint
  const head = `${formatPlace({ ...place, file: place.file.replace(`${folder}/`, '') })} ${CONFIG_FAULTS[code].number} ${severity}`
  const [wantedMessage = '', wantedHint] = (expected ?? '').slice(head.length + 1).split(' | ')
  const isAsWanted =
    expected?.startsWith(`${head} `) === true &&
    message.includes(wantedMessage) &&
    (wantedHint === undefined || hint.includes(wantedHint))
  return isAsWanted ? expected : `${head} ${message} | ${hint}`
}

describe('each invalid configuration is rejected at the right place, in the right words', () => {
  it.each(cases)('%s', async file => {
    const { files, expected } = parseCase(readFileSync(join(FOLDER, file), 'utf8'))
    const dir = tempDir(onTestFinished)
    for (const [name, content] of files) dir.write(name, content)
    const ports = {
      environment: ENVIRONMENT,
      readStdin: async () => Buffer.alloc(0),
      known: new Set<string>(),
    }
    const { problems } = await load([dir.path], ports)
    const found = problems.map((problem, at) => describeLike(expected[at], problem, dir.path))
    expect(found).toEqual(expected)
    expect(found.length).toBeGreaterThan(0)
    for (const problem of problems) {
      expect(formatProblem(problem, { colour: true }) + JSON.stringify(problemJson(problem))).not.toMatch(
        /canary/i,
      )
    }
  })
})
