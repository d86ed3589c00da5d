import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { tempDir } from '../support/temp-dir.ts'

const SCRIPT = fileURLToPath(new URL('../../scripts/count.mjs', import.meta.url))

interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly {
      readonly status: string
      readonly fullName: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

const PASSED: Report = { numPassedTests: 7, numFailedTests: 0, testResults: [] }

function count(reports: readonly Report[], stepFailed = '0') {
  const dir = tempDir(onTestFinished)
  for (const [at, report] of reports.entries()) dir.write(`${at}.json`, JSON.stringify(report))
  const { stdout, status } = spawnSync(process.execPath, [SCRIPT, dir.path, stepFailed], {
    cwd: dir.path,
    encoding: 'utf8',
  })
  const lines = stdout.trim().split('\n')
  return { last: lines.at(-1), before: lines.slice(0, -1), status }
}

test('the count of CI is the sum of all runs', () => {
  const counted = count([PASSED, { ...PASSED, numPassedTests: 3 }])
  expect(counted).toEqual({ last: '10 passed, 0 failed', before: [], status: 0 })
})

test('a failed test, and a file that does not load, each count once and are printed again', () => {
  const failures = [
    { status: 'passed', fullName: 'a sum is right', failureMessages: [] },
    {
      status: 'failed',
      fullName: 'a sum is rounded',
      failureMessages: ['expected 1 to be 2\n  at sum.test.ts:3'],
    },
  ]
  const failed = { name: 'test/sum.test.ts', status: 'failed', message: '', assertionResults: failures }
  const unloaded = {
    name: 'test/b.test.ts',
    status: 'failed',
    message: 'no such module',
    assertionResults: [],
  }
  const report = { numPassedTests: 1, numFailedTests: 1, testResults: [failed, unloaded] }
  expect(count([PASSED, report])).toEqual({
    last: '8 passed, 2 failed',
    before: [
      'FAILED test/sum.test.ts > a sum is rounded',
      '  expected 1 to be 2',
      '    at sum.test.ts:3',
      'FAILED test/b.test.ts',
      '  no such module',
    ],
    status: 1,
  })
})

test('a step that failed without a test, and a run without any test, are no success', () => {
  expect(count([PASSED], '1')).toMatchObject({ last: '7 passed, 1 failed', status: 1 })
  expect(count([])).toMatchObject({ last: '0 passed, 1 failed', status: 1 })
})
