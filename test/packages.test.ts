import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface LockedPackage {
  readonly dev?: boolean
  readonly hasInstallScript?: boolean
  readonly gypfile?: boolean
  readonly resolved?: string
}

const ROOT = new URL('../', import.meta.url)
const lock = read<{ readonly packages: Readonly<Record<string, LockedPackage>> }>('package-lock.json')
const { allowScripts } = read<{ readonly allowScripts: Readonly<Record<string, boolean>> }>('package.json')
const locked = Object.entries(lock.packages).filter(([folder]) => folder.startsWith('node_modules/'))

function read<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(file, ROOT), 'utf8')) as T
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
