import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

const ASSETS = fileURLToPath(new URL('../../dist/console/assets', import.meta.url))
const KIB = 1_024

const files = readdirSync(ASSETS).map(name => ({
  name,
  text: readFileSync(join(ASSETS, name), 'utf8'),
  bytes: gzipSync(readFileSync(join(ASSETS, name)), { level: 9 }).length,
}))
const html = readFileSync(join(ASSETS, '../index.html'), 'utf8')

/** A file with all that it imports at once, not on demand. */
function closure(name: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(name)) return seen
  seen.add(name)
  const text = files.find(file => file.name === name)?.text ?? ''
  for (const [, imported = ''] of text.matchAll(/(?:from|import)"\.\/([^"]+\.js)"/g)) closure(imported, seen)
  return seen
}

function kib(names: Iterable<string>): number {
  return [...names].reduce((sum, name) => sum + (files.find(file => file.name === name)?.bytes ?? 0), 0) / KIB
}

const first = new Set(
  [...html.matchAll(/(?:src|href)="\/console\/assets\/([^"]+)"/g)].flatMap(([, name = '']) => [
    ...closure(name),
  ]),
)

test('the log-in loads at most 180 KiB', () => {
  expect(first.size).toBeGreaterThan(1)
  expect(kib(first)).toBeLessThan(180)
})

test('a page adds at most 40 KiB', () => {
  const entry = files.find(({ name }) => /^index-.*\.js$/.test(name))
  const pages = [...(entry?.text.matchAll(/import\(`\.\/([^`]+)`\)/g) ?? [])].map(([, name = '']) => name)
  expect(pages.length).toBeGreaterThan(5)
  for (const page of pages) {
    const added = [...closure(page)].filter(name => !first.has(name))
    expect(kib(added), page).toBeLessThan(40)
  }
})

test('all of it is at most 400 KiB', () => {
  expect(kib(files.map(({ name }) => name))).toBeLessThan(400)
})
