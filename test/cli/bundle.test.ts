import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { tempDir } from '../support/temp-dir.ts'

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

test('the start of a command loads no schemas, and nothing native', () => {
  const loaded = new Set<string>()
  const load = (file: string) => {
    if (loaded.has(file)) return
    loaded.add(file)
    if (!file.startsWith('./')) return
    const text = readFileSync(new URL(file, BUNDLE), 'utf8')
    for (const [, name = ''] of text.matchAll(/^(?:import|export) [^;]*?from "([^"]+)";$/gm)) load(name)
  }
  load('./main.js')
  expect(loaded).toContain('node:util')
  const outside = [...loaded].filter(file => !file.startsWith('./'))
  expect(outside.filter(file => !file.startsWith('node:'))).toEqual([])
  const inside = [...loaded].filter(file => file.startsWith('./'))
  const isHeavy = (file: string) =>
    /node_modules\/(zod|yaml|undici)\//.test(readFileSync(new URL(file, BUNDLE), 'utf8'))
  expect(inside.filter(isHeavy)).toEqual([])
})

test('gw says where it is not built, and how it will be', () => {
  const folder = tempDir(onTestFinished)
  folder.write('package.json', '{ "type": "module" }')
  const file = folder.write('bin/gw.js', readFileSync(new URL('../../bin/gw.js', import.meta.url)))
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, '--version'], { encoding: 'utf8' })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toBe(`gw is not built yet: run \`npm ci && npm run build\` in ${folder.path}/.\n`)
})
