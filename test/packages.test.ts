import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

interface LockedPackage {
  readonly dev?: boolean
  readonly hasInstallScript?: boolean
  readonly gypfile?: boolean
  readonly resolved?: string
}

const ROOT = new URL('../', import.meta.url)
const lock = read('package-lock.json') as { readonly packages: Readonly<Record<string, LockedPackage>> }
const { allowScripts, devDependencies, engines } = read('package.json') as {
  readonly allowScripts: Readonly<Record<string, boolean>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly engines: { readonly node: string }
}
const locked = Object.entries(lock.packages).filter(([folder]) => folder.startsWith('node_modules/'))

function read(file: string): unknown {
  return JSON.parse(readFileSync(new URL(file, ROOT), 'utf8'))
}

function nameOf(folder: string): string {
  return folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

test('nothing that a user installs has an install script', () => {
  const scripted = locked.filter(([, { dev, hasInstallScript }]) => hasInstallScript && !dev)
  expect(scripted.map(([folder]) => folder)).toEqual([])
})

test('in a clone exactly those install scripts run that allowScripts names, each with its reason in a decision', () => {
  const scripted = locked
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([folder]) => nameOf(folder))
  const allowed = Object.keys(allowScripts).filter(name => allowScripts[name])
  expect([...new Set(scripted)].sort()).toEqual(allowed.sort())
  const page = readFileSync(new URL('docs/decisions/0021-install-scripts.md', ROOT), 'utf8')
  for (const name of allowed) expect(page).toContain(`\n| ${name} | `)
})

test('nothing is compiled: the lock file keeps npm from building what has its binary beside it', () => {
  const built = locked.filter(([folder]) => existsSync(new URL(`${folder}/binding.gyp`, ROOT)))
  expect(built.map(([folder]) => folder)).toContain('node_modules/better-sqlite3')
  for (const [, entry] of built) expect(entry).toHaveProperty('gypfile', false)
})

test('the lock file names no registry', () => {
  for (const [, { resolved }] of locked) expect(resolved ?? '').not.toContain('//')
})

test('the workflow runs the suite on the oldest Node that engines allows, and on the line that a clone brings', () => {
  const workflow = parse(readFileSync(new URL('.github/workflows/check.yml', ROOT), 'utf8')) as {
    readonly jobs: { readonly node: { readonly strategy: { readonly matrix: { readonly node: string[] } } } }
  }
  const { node } = workflow.jobs.node.strategy.matrix
  expect(node).toContain(`${engines.node.replace('>=', '')}.0`)
  expect(node).toContain(devDependencies['node']?.split('.')[0])
})
