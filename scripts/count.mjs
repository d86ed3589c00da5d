// @ts-check
/**
 * Adds up what several runs of the tests reported (`vitest.reporters.ts`), and prints each failure again and then, as the
 * last line, the plain count. Ends with 1 where anything failed, and where nothing passed.
 *
 *     node scripts/count.mjs FOLDER 0    # 1: a step failed, perhaps one without tests
 *
 * It runs on the machine's own Node.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import process from 'node:process'

/** How many lines of a failure's message are printed again. */
const MESSAGE_LINES = 20

const [folder = '', stepFailed = '0'] = process.argv.slice(2)
let passed = 0
let failed = 0
for (const file of readdirSync(folder)) {
  const report = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  passed += report.numPassedTests
  failed += report.numFailedTests
  for (const { name, status, message, assertionResults } of report.testResults) {
    const path = relative(process.cwd(), name)
    const failures = assertionResults.filter(test => test.status === 'failed')
    for (const test of failures) printFailure(`${path} > ${test.fullName}`, test.failureMessages.join('\n'))
    // A file that did not load has no tests to count.
    if (status === 'failed' && failures.length === 0) {
      failed++
      printFailure(path, message)
    }
  }
}
if (failed === 0 && (stepFailed !== '0' || passed === 0)) {
  failed = 1
  printFailure(
    stepFailed === '0' ? 'No test passed' : 'A step other than a test failed',
    'Its output is above.',
  )
}
console.log(`${passed} passed, ${failed} failed`)
if (failed > 0) process.exitCode = 1

/** @param {string} title @param {string} message */
function printFailure(title, message) {
  console.log(`FAILED ${title}`)
  for (const line of message.split('\n').slice(0, MESSAGE_LINES)) console.log(`  ${line}`)
}
