// @ts-check
/**
 * Adds up what several runs of the tests reported (`vitest.reporters.ts`), and prints the plain count. Ends with 1 where
 * anything failed, and where nothing passed.
 *
 *     node scripts/count.mjs FOLDER 0    # 1: a step failed, perhaps one without tests
 *
 * It runs on the machine's own Node.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

const [folder = '', stepFailed = '0'] = process.argv.slice(2)
let passed = 0
let failed = 0
for (const file of readdirSync(folder)) {
  const report = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  passed += report.numPassedTests
  failed += report.numFailedTests
  // A file that did not load has no tests to count.
  for (const { status, assertionResults } of report.testResults)
    if (status === 'failed' && !assertionResults.some(test => test.status === 'failed')) failed++
}
if (failed === 0 && (stepFailed !== '0' || passed === 0)) failed = 1
console.log(`${passed} passed, ${failed} failed`)
if (failed > 0) process.exitCode = 1
