import { renameSync, symlinkSync, unlinkSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { FollowedFiles } from '../../../src/server/files/followed-files.ts'
import type { FilesOutcome } from '../../../src/server/files/outcome.ts'
import { openStore } from '../../../src/store/open.ts'
import { storeOfFolder } from '../../support/store-of-folder.ts'
import { tempDir } from '../../support/temp-dir.ts'

const THREAD = new URL('../../../dist/server/files/files-thread.js', import.meta.url)

const KEYS = ['one', 'two', 'three', 'four', 'five', 'six']
const tree = (...keys: string[]) =>
  `version: 1\nkeys:\n${keys.map(key => `  ${key}: { kind: platform }`).join('\n')}\n`

async function scene(names: readonly string[] = ['config']) {
  const dir = tempDir(onTestFinished)
  const store = await storeOfFolder(dir.path)
  const lines: Record<string, unknown>[] = []
  let heard: () => void = () => undefined
  const write = (line: string): void => {
    lines.push(JSON.parse(line) as Record<string, unknown>)
    heard()
  }
  const files = new FollowedFiles({
    paths: names.map(name => dir.at(name)),
    store,
    cwd: dir.path,
    environment: {},
    clock: systemClock,
    log: createLog({ write }, { level: 'info', pretty: false, colour: false }),
    threadUrl: THREAD,
  })
  onTestFinished(() => files.close())
  const live = async () => {
    const opened = await openStore(store, { mode: 'read', clock: systemClock })
    try {
      return await opened.live()
    } finally {
      await opened.close()
    }
  }
  return {
    dir,
    files,
    lines,
    revision: async () => (await live()).head.revision,
    /** The first line of the log, from `since` on, that says this. */
    logged: async (message: string, since: number): Promise<Record<string, unknown>> => {
      for (;;) {
        const line = lines.slice(since).find(({ msg }) => msg === message)
        if (line) return line
        await new Promise<void>(resolve => {
          heard = resolve
        })
      }
    },
  }
}

function is(outcome: FilesOutcome): string {
  return outcome.is === 'rejected' ? outcome.code : `${outcome.is} ${outcome.revision}`
}

describe('files that are followed', () => {
  test('make a revision where they say something new, and none where they do not', async () => {
    const { dir, files, revision } = await scene()
    dir.write('config/gw.yaml', tree('one'))
    expect(is(await files.apply())).toBe('applied 1')
    expect(is(await files.apply())).toBe('unchanged 1')
    dir.write('config/gw.yaml', `# the same in other words\n${tree('one')}`)
    expect(is(await files.apply())).toBe('unchanged 1')
    dir.write('config/gw.yaml', tree('one', 'two'))
    expect(is(await files.apply())).toBe('applied 2')
    expect(await revision()).toBe(2)
  })

  test('that are wrong change nothing, and are reported once, with the place, the frame and the hint', async () => {
    const { dir, files, lines, revision } = await scene()
    dir.write('config/gw.yaml', tree('one'))
    await files.apply()
    dir.write('config/gw.yaml', 'version: 1\nkeys:\n  one: { kind: platfrom }\n')
    expect(is(await files.apply())).toBe('configuration_invalid')
    expect(is(await files.apply())).toBe('configuration_invalid')
    expect(files.reasons()).toEqual([expect.stringMatching(/^files_rejected: .*gw\.yaml:3:16 GW1204/)])
    const shown = lines.filter(({ level }) => level === 'error')
    expect(shown).toEqual([
      expect.objectContaining({
        code: 'GW3001',
        problems: [
          expect.objectContaining({
            code: 'GW1204',
            file: dir.at('config/gw.yaml'),
            line: 3,
            column: 16,
            frame: expect.stringContaining('platfrom'),
            hint: expect.stringContaining('platform'),
          }),
        ],
      }),
    ])
    dir.write('config/gw.yaml', tree('one'))
    expect(is(await files.apply())).toBe('unchanged 1')
    expect(files.reasons()).toEqual([])
    expect(await revision()).toBe(1)
  })

  test('that would delete more than may go unseen are rejected, and so is an empty directory', async () => {
    const { dir, files, revision } = await scene()
    dir.write('config/a.yaml', tree(...KEYS.slice(0, 3)))
    dir.write('config/b.yaml', tree(...KEYS.slice(3)))
    await files.apply()
    unlinkSync(dir.at('config/b.yaml'))
    expect(is(await files.apply())).toBe('too_many_deletes')
    unlinkSync(dir.at('config/a.yaml'))
    expect(is(await files.apply())).toBe('configuration_invalid')
    dir.write('config/a.yaml', tree(...KEYS.slice(0, 4)))
    expect(is(await files.apply())).toBe('applied 2')
    expect(await revision()).toBe(2)
  })

  test('are applied once for all who ask while an apply is under way, and with what they say by then', async () => {
    const { dir, files, revision } = await scene()
    dir.write('config/gw.yaml', tree('one'))
    const first = files.apply()
    dir.write('config/gw.yaml', tree('one', 'two'))
    const others = [files.apply(), files.apply(), files.apply()]
    const outcomes = await Promise.all([first, ...others])
    expect(new Set(outcomes.slice(1)).size).toBe(1)
    expect(await revision()).toBe(outcomes.at(-1)?.is === 'unchanged' ? 1 : 2)
    expect(is(await files.apply())).toMatch(/^unchanged/)
  })

  test('win over what another user has applied meanwhile, also where they themselves stayed as they were', async () => {
    const { dir, files } = await scene()
    const other = new FollowedFiles({
      paths: [dir.write('other.yaml', tree('two'))],
      store: await storeOfFolder(dir.path),
      cwd: dir.path,
      environment: {},
      clock: systemClock,
      log: createLog({ write: () => undefined }, { level: 'silent', pretty: false, colour: false }),
      threadUrl: THREAD,
    })
    onTestFinished(() => other.close())
    dir.write('config/gw.yaml', tree('one'))
    await files.apply()
    await other.apply()
    expect(is(await files.apply())).toBe('applied 3')
  })
})

describe('files that are watched', () => {
  test('are applied on each save, through mistakes and their corrections', async () => {
    const { dir, files, lines, logged } = await scene()
    dir.write('config/gw.yaml', tree('one'))
    await files.watch()
    await files.apply()
    let since = lines.length
    dir.write('config/gw.yaml', `${tree('one', 'two')}  half-writ`)
    expect(await logged('cannot apply the files', since)).toMatchObject({ code: 'GW3001' })
    since = lines.length
    dir.write('config/.gw.yaml.tmp', tree('one', 'two'))
    renameSync(dir.at('config/.gw.yaml.tmp'), dir.at('config/gw.yaml'))
    expect(await logged('applied the files', since)).toMatchObject({ revision: 2, create: 1 })
  })

  test('are applied when a ConfigMap is brought up to date', async () => {
    const { dir, files, lines, logged, revision } = await scene(['mounted'])
    const mount = (version: string, ...keys: string[]) => {
      dir.write(`mounted/..${version}/gw.yaml`, tree(...keys))
      symlinkSync(`..${version}`, dir.at('mounted/..data_tmp'))
      renameSync(dir.at('mounted/..data_tmp'), dir.at('mounted/..data'))
    }
    mount('v1', 'one')
    symlinkSync('..data/gw.yaml', dir.at('mounted/gw.yaml'))
    await files.watch()
    await files.apply()
    const since = lines.length
    mount('v2', 'one', 'two')
    expect(await logged('applied the files', since)).toMatchObject({ revision: 2 })
    expect(await revision()).toBe(2)
  })
})
