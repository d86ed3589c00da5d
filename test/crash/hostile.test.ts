import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../../scripts/hostile.mjs', import.meta.url))

interface Results {
  readonly slowloris: { sockets: number; failed: number }
  readonly 'slow-readers': { normal_failed: number; rss_mib: [number, number]; closed: number }
  readonly streams: { streams: number; whole: number; wrong: number }
}

/** The short form of `npm run hostile`: what a busy machine keeps, too; how fast is for the long form. */
it('serves beside clients that dribble heads, that hardly read, and two hundred open streams', async () => {
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
  const [before, highest] = results['slow-readers'].rss_mib
  expect(highest - before).toBeLessThan(150)
  expect(results.streams).toMatchObject({ streams: 200, whole: 200, wrong: 0 })
})
