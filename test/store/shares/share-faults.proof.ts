import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { tempDir } from '../../support/temp-dir.ts'
import { SHARE_FAULTS, type ShareFault } from './share-faults.ts'
import { runHistory, shareSteps, shareWorlds } from './share-model.ts'
import { inMaps, inSqlite, type ShareModules } from './share-systems.ts'

const FOLDERS = ['store/shares', 'limits/shares'].map(
  folder => new URL(`../../../src/${folder}/`, import.meta.url),
)

/** The modules of shares with a fault, side by side in a folder: those that are loaded import nothing else. */
async function modulesWith(fault: ShareFault): Promise<ShareModules> {
  const folder = tempDir(onTestFinished)
  for (const file of FOLDERS.flatMap(url => readdirSync(url).map(name => new URL(name, url)))) {
    const source = readFileSync(file, 'utf8')
    const name = basename(file.pathname, '.ts')
    const isFaulty = name === fault.file
    if (isFaulty) expect(source.split(fault.text), `${fault.text} is there once`).toHaveLength(2)
    const text = isFaulty ? source.replace(fault.text, () => fault.by) : source
    const javaScript = stripTypeScriptTypes(text)
    writeFileSync(folder.at(`${name}.mjs`), javaScript.replaceAll(/from '\.\/(.+)\.ts'/g, "from './$1.mjs'"))
  }
  const load = (name: ShareFault['file']) => import(pathToFileURL(folder.at(`${name}.mjs`)).href)
  return {
    ...(await load('share-holder')),
    ...(await load('grantor')),
    ...(await load('sqlite-tables')),
    ...(await load('rules')),
  }
}

test.each(SHARE_FAULTS)('the model finds that $what', async fault => {
  const modules = await modulesWith(fault)
  const system = fault.file === 'sqlite-tables' ? await inSqlite(modules) : inMaps(modules)
  const { failed } = fc.check(
    fc.property(shareWorlds, shareSteps, (world, steps) => runHistory(world, steps, system)),
    { numRuns: 4_000, endOnFailure: true, seed: 21 },
  )
  expect(failed).toBe(true)
})
