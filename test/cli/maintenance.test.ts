import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'
import { gw } from './in-process.ts'

let dir: TempDir
let clock: TestClock
const run = (...words: string[]) =>
  gw(words, { cwd: dir.path, clock, environment: { USER: 'ada', NO_COLOR: '1' } })
const settings = (enabled: boolean) =>
  dir.write(
    'gw.yaml',
    `version: 1\nsettings:\n  maintenance: { enabled: ${enabled}, message: As declared. }\n`,
  )

beforeEach(async () => {
  dir = tempDir(onTestFinished)
  clock = testClock()
  settings(false)
  expect((await run('apply', '--yes', '--skip-probe')).exit).toBe(0)
})

describe('gw maintenance', () => {
  it('is off until it is switched on, and says since when, by whom and what clients get', async () => {
    expect((await run('maintenance', 'status')).stdout).toBe('Maintenance is off.\n')
    expect(await run('maintenance', 'on', '--message', 'Back at ten.')).toEqual({
      exit: 0,
      stdout:
        'Maintenance is on, manually since 2026-01-15T12:00:00.000Z, by ada. Message for clients: Back at ten.\n',
      stderr: '',
    })
    expect((await run('maintenance', 'off')).stdout).toBe('Maintenance is off.\n')
    expect((await run('maintenance', 'off')).stdout).toBe('Nothing to do. Maintenance is off.\n')
  })

  it('tells clients what the settings say, where it has no message of its own', async () => {
    expect((await run('maintenance', 'on')).stdout).toContain('Message for clients: As declared.')
    expect((await run('maintenance', 'on')).stdout).toMatch(/^Nothing to do\. Maintenance is on, manually/)
  })

  it('is independent of what is applied: an apply neither switches it on nor off', async () => {
    await run('maintenance', 'on')
    dir.write('gw.yaml', 'version: 1\nsettings: { currency: EUR }\n')
    expect((await run('apply', '--yes', '--skip-probe')).exit).toBe(0)
    expect((await run('maintenance', 'status')).stdout).toContain('manually')
    expect((await run('export')).stdout).toBe('version: 1\nsettings:\n  currency: EUR\n')
  })

  it('cannot take back what the configuration says, names its line, and is off by hand all the same', async () => {
    settings(true)
    await run('apply', '--yes', '--skip-probe')
    await run('maintenance', 'on')
    expect((await run('maintenance', 'status')).stdout).toContain('by ada and by the settings (gw.yaml:2)')
    const { exit, stderr } = await run('maintenance', 'off')
    expect(exit).toBe(4)
    expect(stderr).toContain('error GW4014: The switch is off, but the settings of gw.yaml:2 keep')
    expect(stderr).toContain('Set `maintenance.enabled: false` in gw.yaml:2, and apply.')
    expect((await run('maintenance', 'status')).stdout).toMatch(/^Maintenance is on, by the settings/)
  })

  it('answers in JSON', async () => {
    const json = async (...words: string[]) =>
      JSON.parse((await run('maintenance', ...words, '--format', 'json')).stdout)
    const off = { on: false, declared: false }
    expect(await json('status')).toMatchObject(off)
    expect(await json('on', '--message', 'Soon.')).toMatchObject({
      on: true,
      message: 'Soon.',
      switched: { since: '2026-01-15T12:00:00.000Z', author: 'ada', message: 'Soon.' },
      changed: true,
    })
    expect(await json('off')).toMatchObject({ ...off, changed: true })
  })

  it('rejects a message that would break a line, and a store that does not exist', async () => {
    expect((await run('maintenance', 'on', '--message', 'a\nb')).exit).toBe(64)
    expect((await run('maintenance', 'on', '--store', 'sqlite:./nowhere.db')).stderr).toContain('GW2003')
  })
})
