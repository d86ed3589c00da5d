import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../../scripts/hostile.mjs', import.meta.url))

/** What became of those who asked at the door of the control plane, by status, and of the calls beside them. */
interface ConnectionManager {
  readonly answered: number
  readonly failed: number
  readonly statuses: Readonly<Record<string, number>>
}

interface Results {
  readonly slowloris: { sockets: number; failed: number }
  readonly logins: Readonly<Record<'logging_in' | 'guessing', ConnectionManager>>
  readonly 'slow-readers': { normal_failed: number; rss_mib: [number, number]; closed: number }
  readonly streams: { streams: number; whole: number; wrong: number }
}

/** The short form of `npm run hostile`: what a busy machine keeps, too; how fast is for the long form. */
it('serves beside clients that dribble heads, that hardly read, that log in all at once, and two hundred open streams', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    SCRIPT,
    '--short',
    '--format',
    'json',
  ]).catch((failed: { stdout: string; stderr: string }) => {
    // It ends with 1 where a number misses: what holds here is less strict.
    if (failed.stdout === '') throw new Error(failed.stderr)
    return failed
  })
  const results = JSON.parse(stdout) as Results
  expect(results.slowloris).toMatchObject({ sockets: 50, failed: 0 })
  expect(results['slow-readers']).toMatchObject({ normal_failed: 0, closed: 0 })
  // Those who belong in get in, those who guess are sent away, and no call is lost over them.
  const { logging_in, guessing } = results.logins
  for (const clients of [logging_in, guessing]) {
    expect(clients.failed).toBe(0)
    expect(clients.answered).toBeGreaterThan(0)
  }
  expect(Object.keys(logging_in.statuses).filter(status => !['201', '503'].includes(status))).toEqual([])
  expect(Object.keys(guessing.statuses).filter(status => !['401', '429', '503'].includes(status))).toEqual([])
  const [before, highest] = results['slow-readers'].rss_mib
  expect(highest - before).toBeLessThan(150)
  expect(results.streams).toMatchObject({ streams: 200, whole: 200, wrong: 0 })
})
