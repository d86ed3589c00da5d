import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { tempDir } from '../support/temp-dir.ts'

const SCRIPT = fileURLToPath(new URL('../../scripts/count.mjs', import.meta.url))

interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly {
    readonly status: string
    readonly assertionResults: readonly { readonly status: string }[]
  }[]
}

const PASSED: Report = { numPassedTests: 7, numFailedTests: 0, testResults: [] }

function count(reports: readonly Report[], stepFailed = '0') {
  const dir = tempDir(onTestFinished)
  for (const [at, report] of reports.entries()) dir.write(`${at}.json`, JSON.stringify(report))
  const { stdout, status } = spawnSync(process.execPath, [SCRIPT, dir.path, stepFailed], { encoding: 'utf8' })
  return [stdout.trim(), status]
}

test('the count of CI is the sum of all runs', () => {
  expect(count([PASSED, { ...PASSED, numPassedTests: 3 }])).toEqual(['10 passed, 0 failed', 0])
})

test('a failed test, and a file that does not load, each count once', () => {
  const failed = { status: 'failed', assertionResults: [{ status: 'failed' }] }
  const unloaded = { status: 'failed', assertionResults: [] }
  const report = { numPassedTests: 1, numFailedTests: 1, testResults: [failed, unloaded] }
  expect(count([PASSED, report])).toEqual(['8 passed, 2 failed', 1])
})

test('a step that failed without a test, and a run without any test, are no success', () => {
  expect(count([PASSED], '1')).toEqual(['7 passed, 1 failed', 1])
  expect(count([])).toEqual(['0 passed, 1 failed', 1])
})
