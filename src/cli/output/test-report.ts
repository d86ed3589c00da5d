import { pluralize } from '../../base/pluralize.ts'
import type { Json } from '../../schema/kinds.ts'
import type { TestResult } from '../../services/config-tests/run.ts'
import { workflowCommand } from './github.ts'
import { type Glyphs, printable, type Style } from './style.ts'

/** A line for each test, below its file; a failed one with the expected and the actual result. */
export function testsToText(results: readonly TestResult[], style: Style, glyphs: Glyphs): string {
  const lines: string[] = []
  for (const [file, tests] of byFile(results)) {
    lines.push(style.strong(printable(file)))
    for (const { name, place, judgement } of tests) {
      if (judgement.ok) {
        lines.push(`  ${style.added(glyphs.pass)} ${printable(name)}`)
        continue
      }
      const { expected, actual, hint } = judgement
      lines.push(
        `  ${style.fault(glyphs.fail)} ${printable(name)}  ${style.faint(`${printable(file)}:${place.line}`)}`,
      )
      lines.push(`      expected  ${style.added(printable(expected))}`)
      lines.push(`      actual    ${style.removed(printable(actual))}`)
      if (hint !== undefined) lines.push(`      ${glyphs.next} ${printable(hint)}`)
    }
  }
  const failed = failures(results).length
  const passed = results.length - failed
  lines.push('', `${pluralize(results.length, 'test')}: ${passed} passed, ${failed} failed.`)
  return lines.map(line => `${line}\n`).join('')
}

export function testsToJson(results: readonly TestResult[]): Json {
  const failed = failures(results).length
  return {
    passed: results.length - failed,
    failed,
    tests: results.map(({ name, place: { file, line }, judgement }) => ({ name, file, line, ...judgement })),
  }
}

/**
 * JUnit XML in the form that Jenkins and GitLab both read: a suite for each file, a case for each test.
 */
export function testsToJunit(results: readonly TestResult[]): string {
  const suites = [...byFile(results)].map(([file, tests]) => {
    const cases = tests.map(testCase).join('')
    return `  <testsuite name="${xml(file)}" tests="${tests.length}" failures="${failures(tests).length}" errors="0">\n${cases}  </testsuite>\n`
  })
  const totals = `tests="${results.length}" failures="${failures(results).length}" errors="0"`
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="gw test" ${totals}>\n${suites.join('')}</testsuites>\n`
}

/** Annotations of GitHub Actions, one for each test that failed. */
export function testsToGithub(results: readonly TestResult[]): string {
  return failures(results)
    .map(({ name, place: { file, line, column }, judgement }) =>
      workflowCommand('error', { file, line, col: column, title: name }, explained(judgement)),
    )
    .join('')
}

function testCase({ name, place: { file, line }, judgement }: TestResult): string {
  const head = `    <testcase name="${xml(name)}" classname="${xml(file)}" file="${xml(file)}" line="${line}"`
  if (judgement.ok) return `${head}/>\n`
  const message = `expected ${judgement.expected}, got ${judgement.actual}`
  return `${head}>\n      <failure message="${xml(message)}">${xml(explained(judgement))}</failure>\n    </testcase>\n`
}

function explained(judgement: TestResult['judgement']): string {
  if (judgement.ok) return ''
  const { expected, actual, hint } = judgement
  return [`expected ${expected}`, `actual   ${actual}`, ...(hint === undefined ? [] : [hint])].join('\n')
}

function byFile(results: readonly TestResult[]): ReadonlyMap<string, readonly TestResult[]> {
  const files = new Map<string, TestResult[]>()
  for (const result of results) {
    const known = files.get(result.place.file)
    if (known) known.push(result)
    else files.set(result.place.file, [result])
  }
  return files
}

function failures(results: readonly TestResult[]): readonly TestResult[] {
  return results.filter(({ judgement }) => !judgement.ok)
}

/** XML 1.0 §2.2 cannot represent most control characters, so they are escaped first. */
function xml(text: string): string {
  return text
    .split('\n')
    .map(printable)
    .join('\n')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
