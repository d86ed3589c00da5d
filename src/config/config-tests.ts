import { type ConfigTest, configTest, testsHead } from '../schema/config-test.ts'
import { check } from './check.ts'
import { readFiles } from './files.ts'
import { kindOf } from './issues.ts'
import { redactUnread } from './mask.ts'
import type { MapNode, Node } from './node.ts'
import { Report } from './report.ts'
import { resolveDocument } from './resolve.ts'
import type { Source } from './source.ts'
import type { LoadPorts, Place, Problem } from './types.ts'
import { parseYaml } from './yaml.ts'

/** A test with its place. */
export interface PlacedTest {
  readonly test: ConfigTest
  readonly place: Place
}

/** Either every test of every file, or all problems at once. */
export type LoadedTests =
  | { readonly ok: true; readonly tests: readonly PlacedTest[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/**
 * Reads test files like {@link load} reads a configuration: every problem with its place.
 *
 * @param paths files, or directories with every `*.test.yaml` and `*.test.yml` below them.
 */
export async function loadTests(paths: readonly string[], ports: LoadPorts): Promise<LoadedTests> {
  const report = new Report()
  const { sources } = await readFiles(paths, ports, report, 'tests')
  const tests = sources.flatMap(source => testsIn(source, report, ports.environment))
  return report.hasErrors ? { ok: false, problems: report.problems() } : { ok: true, tests }
}

function testsIn(source: Source, report: Report, environment: LoadPorts['environment']): PlacedTest[] {
  const { contents, finding } = parseYaml(source)
  const root = contents === null ? undefined : resolveDocument(contents, source, report, environment)
  if (finding || root === undefined) {
    const span = { source, start: 0, end: 1 }
    report.add(finding ?? { code: 'file_empty', span, text: 'nothing but white space and comments' })
    redactUnread(source)
    return []
  }
  if (root.kind !== 'map') {
    const text = `expected a map with \`version: 1\` and \`tests\`, got ${kindOf(root)}`
    report.add({ code: 'wrong_type', span: root.span, text })
    return []
  }
  const start = { ...root.span, end: root.span.start + 1 }
  check(testsHead, { node: headOf(root), home: start, path: [], extraFields: ['tests'] }, report)
  const list = root.entries.get('tests')
  if (list?.value.kind !== 'list') {
    const span = list ? list.value.span : start
    report.add({
      code: list ? 'wrong_type' : 'missing_field',
      span,
      text: 'expected a list of tests under `tests`',
    })
    return []
  }
  return list.value.items.flatMap((item, index) => placed(item, index, report))
}

function placed(item: Node, index: number, report: Report): PlacedTest[] {
  const test = check(configTest, { node: item, home: item.span, path: ['tests', index] }, report)
  if (test === undefined) return []
  const { source, start } = item.span
  return [{ test, place: source.placeAt(start) }]
}

/** The root without the tests, which are checked one by one, and without the free `x-` fields. */
function headOf(root: MapNode): MapNode {
  const kept = [...root.entries].filter(([field]) => field !== 'tests' && !field.startsWith('x-'))
  return { ...root, entries: new Map(kept) }
}
