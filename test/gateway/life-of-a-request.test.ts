import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const text = readFileSync(new URL('docs/life-of-a-request.md', root), 'utf8')

/** The rows of one table: name and file. */
function rowsOf(what: 'class' | 'interface'): string[][] {
  const [, table = ''] = text.split(`| ${what} | file |`)
  const [rows = ''] = table.split('\n\n')
  return [...rows.matchAll(/^\| `(\w+)` \| (\S+\.ts) \|/gm)].map(([, name = '', file = '']) => [name, file])
}

it.each(['class', 'interface'] as const)('each %s of the page about a request is in its file', what => {
  const rows = rowsOf(what)
  expect(rows.length).toBeGreaterThan(5)
  const missing = rows.filter(([name, file]) => {
    const source = readFileSync(new URL(`src/${file}`, root), 'utf8')
    return !new RegExp(`^export ${what} ${name}\\b`, 'm').test(source)
  })
  expect(missing).toEqual([])
})
