import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { METRICS } from '../../src/metering/metrics/catalogue.ts'
import { tempDir } from '../support/temp-dir.ts'
import { hasPromtool } from './promtool.ts'

const page = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string
      readonly expr: string
      readonly labels: { readonly severity: string }
      readonly annotations: { readonly summary: string; readonly description: string }
    }[]
  }[]
}

interface Dashboard {
  readonly panels: readonly {
    readonly id: number
    readonly title: string
    readonly targets?: readonly { readonly expr: string }[]
  }[]
  readonly templating: { readonly list: readonly { readonly query: string | { readonly query: string } }[] }
  readonly annotations: { readonly list: readonly { readonly expr: string }[] }
}

const alerts = (parse(page('alerts.yaml')) as Rules).groups.flatMap(({ rules }) => rules)
const dashboard = JSON.parse(page('grafana-dashboard.json')) as Dashboard
const drawn = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr }))),
  ...dashboard.annotations.list.map(({ expr }) => ({ title: 'annotation', expr })),
]
const variables = dashboard.templating.list.flatMap(({ query }) =>
  typeof query === 'string' ? [] : [query.query],
)

/** Added by Prometheus to each series that it scrapes, and to each bucket. */
const GIVEN = ['instance', 'job', 'le']

interface Selected {
  readonly name: string
  readonly labels: readonly string[]
}

/** The metrics that a query selects, each with the labels by which it does. */
function selected(expr: string): readonly Selected[] {
  const bare = expr.replaceAll(/\b(by|on|without|ignoring)\s*\([^)]*\)/g, '')
  return [...bare.matchAll(/\b((?:gw|gen_ai|process|nodejs)_\w+|up(?=\{))(?:\{([^}]*)\})?/g)].map(
    ([, name = '', by = '']) => ({
      name,
      labels: [...by.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    }),
  )
}

function entryOf(name: string) {
  const family = name.replace(/_(bucket|sum|count)$/, '')
  // Prometheus makes it for each target.
  if (name === 'up') return { type: 'gauge', labels: ['job'], help: '', use: '' }
  return METRICS[name] ?? (METRICS[family]?.type === 'histogram' ? METRICS[family] : undefined)
}

function expectKnown(expr: string): void {
  const metrics = selected(expr)
  expect(metrics, expr).not.toEqual([])
  for (const { name, labels } of metrics) {
    const entry = entryOf(name)
    expect(entry, name).toBeDefined()
    for (const label of labels)
      expect([...(entry?.labels ?? []), ...GIVEN], `${label} of ${name}`).toContain(label)
  }
  for (const [, by = ''] of expr.matchAll(/\bby\s*\(([^)]*)\)/g)) {
    const labels = by.split(',').map(label => label.trim())
    const known = new Set([...metrics.flatMap(({ name }) => [...(entryOf(name)?.labels ?? [])]), ...GIVEN])
    for (const label of labels) expect([...known], `by ${label} in ${expr}`).toContain(label)
  }
}

it('docs/metrics.md has every metric, and nothing else', () => {
  const documented = [...page('metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].map(([, name, type]) => [
    name,
    type,
  ])
  expect(documented).toEqual(Object.entries(METRICS).map(([name, { type }]) => [name, type]))
})

describe('docs/alerts.yaml', () => {
  it.each(alerts)('$alert asks for metrics and labels that there are', ({ expr }) => expectKnown(expr))

  it('says of each alert how urgent it is, what is so and what to do', () => {
    for (const { labels, annotations } of alerts) {
      expect(['page', 'ticket']).toContain(labels.severity)
      expect(annotations.summary).toBeTruthy()
      expect(annotations.description).toBeTruthy()
    }
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
  })
})

describe('docs/grafana-dashboard.json', () => {
  it.each(drawn)('$title asks for metrics and labels that there are: $expr', ({ expr }) => expectKnown(expr))

  it.each(variables)('offers the values of a label that there is: %s', query => {
    const [, name = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(query) ?? []
    expect([...(entryOf(name)?.labels ?? []), ...GIVEN]).toContain(label)
  })

  it('draws every metric of the gateway', () => {
    const asked = new Set(
      drawn.flatMap(({ expr }) => selected(expr)).map(({ name }) => name.replace(/_(bucket|sum|count)$/, '')),
    )
    const own = Object.keys(METRICS).filter(name => /^(gw|gen_ai)_/.test(name))
    expect(own.filter(name => !asked.has(name))).toEqual(['gw_build_info'])
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
  })
})

it.runIf(hasPromtool())('promtool reads every query of both', () => {
  const rules = drawn.map(({ expr }, index) => ({
    record: `drawn:${index}`,
    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, '.*'),
  }))
  const file = tempDir(onTestFinished).write(
    'drawn.yaml',
    JSON.stringify({ groups: [{ name: 'drawn', rules }] }),
  )
  const alertsFile = new URL('../../docs/alerts.yaml', import.meta.url).pathname
  const shown = execFileSync('promtool', ['check', 'rules', file, alertsFile], { stdio: 'pipe' }).toString()
  expect(shown).toContain(`SUCCESS: ${rules.length} rules found`)
  expect(shown).toContain(`SUCCESS: ${alerts.length} rules found`)
})
