import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { API_FAULTS } from '../src/base/catalogue/api.ts'
import { COMMAND_FAULTS } from '../src/base/catalogue/command.ts'
import { CONFIG_FAULTS } from '../src/base/catalogue/config.ts'
import { HEALTH_REASONS } from '../src/base/catalogue/health.ts'
import { WIRE_ERRORS } from '../src/base/catalogue/wire.ts'
import { endpoint } from '../src/schema/endpoint.ts'
import { binding, publication } from '../src/schema/publication.ts'
import { settings } from '../src/schema/settings.ts'

const page = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

describe('docs/errors.md', () => {
  const text = page('docs/errors.md')
  const documented = [...text.matchAll(/^### (\S+)$|^\| (GW\d{4}) \||^\| `(\w+)` \|/gm)].map(
    ([, wire, fault, problem]) => wire ?? fault ?? `problem ${problem}`,
  )

  test('has every entry of the catalogue, and nothing else', () => {
    const problems = [...Object.keys(API_FAULTS), ...Object.keys(HEALTH_REASONS)].map(
      code => `problem ${code}`,
    )
    const numbers = [CONFIG_FAULTS, COMMAND_FAULTS].flatMap(part =>
      Object.values(part).map(({ number }) => number),
    )
    const catalogue = [...Object.keys(WIRE_ERRORS), ...numbers, ...problems]
    expect(new Set(documented)).toEqual(new Set(catalogue))
    expect(documented).toHaveLength(catalogue.length)
  })
})

test('docs/operations.md says of every alert what it means', () => {
  const alerts = [...page('docs/alerts.yaml').matchAll(/alert: (\w+)/g)].map(([, name]) => name ?? '')
  expect(alerts.length).toBeGreaterThan(10)
  for (const alert of alerts) expect(page('docs/operations.md')).toContain(alert)
})

describe('the documents', () => {
  test.each([
    'README.md',
    'CONTRIBUTING.md',
    'docs/architecture.md',
    'docs/life-of-a-request.md',
    'docs/metrics.md',
    'docs/nodes.md',
    'docs/money.md',
    'docs/operations.md',
    'docs/control-plane.md',
    'docs/console.md',
    'docs/troubleshooting.md',
    'SECURITY.md',
    'docs/configuration.md',
    'docs/kubernetes.md',
    'docs/vendors.md',
    'docs/prices.md',
    'docs/clients.md',
    'docs/json-output.md',
    'docs/sizing.md',
  ])('%s links to files that exist', path => {
    const base = new URL(`../${path}`, import.meta.url)
    const links = [...page(path).matchAll(/\]\(([^)#]+)\)/g)].map(([, link]) => link ?? '')
    for (const link of links.filter(link => !link.startsWith('http'))) {
      expect(() => readFileSync(new URL(link.replace(/\/$/, '/.'), base)), link).not.toThrow(/ENOENT/)
    }
  })

  test('README opens with the two commands', () => {
    const text = page('README.md')
    expect(text.indexOf('npm ci && npm start')).toBeGreaterThan(0)
    expect(text.indexOf('npm ci && npm test')).toBeGreaterThan(0)
  })
})

test('docs/configuration.md has every field of every kind', () => {
  const text = page('docs/configuration.md')
  const sections = new Map(text.split(/^## /m).map(part => [part.slice(0, part.indexOf('\n')), part]))
  const shapes = [
    ['`settings`', settings.shape],
    ['`endpoints.NAME`', endpoint.shape],
    ['`publications.NAME`', publication.shape],
    ['`bindings[]`', binding.shape],
  ] as const
  for (const [title, shape] of shapes)
    for (const field of Object.keys(shape)) expect(sections.get(title)).toContain(`| \`${field}\``)
})

test('the manifest of docs/kubernetes.md runs one gateway, which ends before the next one starts', () => {
  const [, manifest = ''] = /^```yaml\n(.*?)^```$/ms.exec(page('docs/kubernetes.md')) ?? []
  const documents = parseAllDocuments(manifest).map(document => document.toJS() as Record<string, unknown>)
  expect(documents.map(({ kind }) => kind)).toEqual(['PersistentVolumeClaim', 'Deployment', 'Service'])
  expect(documents[1]).toMatchObject({
    spec: {
      replicas: 1,
      strategy: { type: 'Recreate' },
      template: {
        spec: {
          terminationGracePeriodSeconds: 60,
          containers: [{ args: ['gw', 'serve', '-c', '/config', '--watch', '--listen', '0.0.0.0:8090'] }],
        },
      },
    },
  })
})

test('codes of commands and of the configuration are complete and in order in each hundred', () => {
  const gapsIn = (faults: readonly { readonly number: string }[]) => {
    const numbers = faults.map(fault => Number(fault.number.slice(2)))
    return numbers.filter((number, at) => {
      const isFirst = at === 0 || Math.floor(number / 100) !== Math.floor((numbers[at - 1] ?? 0) / 100)
      return isFirst ? number % 100 !== 1 : number !== (numbers[at - 1] ?? 0) + 1
    })
  }
  expect(gapsIn(Object.values(COMMAND_FAULTS))).toEqual([])
  expect(gapsIn(Object.values(CONFIG_FAULTS))).toEqual([])
})
