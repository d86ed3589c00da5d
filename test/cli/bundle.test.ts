import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const SOURCE = new URL('../../src/', import.meta.url)
const BUNDLE = new URL('../../dist/bundle/', import.meta.url)

test('each module that another names by its place has a file in the bundle, beside the one that names it', () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(file =>
    /\.tsx?$/.test(file),
  )
  const named = files.flatMap(file => [
    ...readFileSync(new URL(file, SOURCE), 'utf8').matchAll(/new URL\('(\.[^']+\.js)', import\.meta\.url\)/g),
  ])
  expect(named.length).toBeGreaterThan(4)
  const missing = named.filter(([, name = '']) => !existsSync(new URL(name, BUNDLE)))
  expect(missing.map(([text]) => text)).toEqual([])
})
