import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { watchFiles } from '../../src/config/watch.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'

let dir: TempDir
beforeEach(() => {
  dir = tempDir(onTestFinished)
})

/** Watches, and gives what waits for the next change. Every change that was not waited for is kept. */
async function watching(...paths: string[]) {
  const seen: number[] = []
  const waiting: (() => void)[] = []
  let given = 0
  const watch = await watchFiles(paths, {
    clock: systemClock,
    onChange: () => {
      seen.push(performance.now())
      waiting.shift()?.()
    },
    onError: error => {
      throw error
    },
  })
  onTestFinished(() => watch.close())
  return {
    watch,
    get changes() {
      return seen.length
    },
    async next(): Promise<void> {
      if (seen.length <= given++) await new Promise<void>(resolve => waiting.push(resolve))
    },
  }
}

/** Longer than the quiet that ends a change. */
const QUIET_MS = 400

describe('a watched directory tells of', () => {
  test('a file that is written in place, comes, and goes', async () => {
    dir.write('config/a.yaml', 'version: 1')
    const seen = await watching(dir.at('config'))
    dir.write('config/a.yaml', 'version: 1 # again')
    await seen.next()
    dir.write('config/b.yml', 'version: 1')
    await seen.next()
    unlinkSync(dir.at('config/b.yml'))
    await seen.next()
  })

  test('a file that an editor replaces by a rename, each time', async () => {
    dir.write('config/a.yaml', '0')
    const seen = await watching(dir.at('config'))
    for (let round = 1; round <= 3; round++) {
      dir.write('config/.a.yaml.tmp', String(round))
      renameSync(dir.at('config/.a.yaml.tmp'), dir.at('config/a.yaml'))
      await seen.next()
    }
  })

  test('a folder that comes with files in it, and of what happens inside afterwards', async () => {
    dir.write('config/a.yaml', '0')
    const seen = await watching(dir.at('config'))
    dir.write('config/tenants/t.yaml', '0')
    await seen.next()
    dir.write('config/tenants/t.yaml', '1')
    await seen.next()
    rmSync(dir.at('config/tenants'), { recursive: true })
    await seen.next()
  })

  test('a ConfigMap that is brought up to date: one link is swapped, again and again', async () => {
    const version = (name: string, text: string) => {
      dir.write(`config/..${name}/gw.yaml`, text)
      symlinkSync(`..${name}`, dir.at('config/..data_tmp'))
      renameSync(dir.at('config/..data_tmp'), dir.at('config/..data'))
    }
    version('2026_1', 'one')
    symlinkSync('..data/gw.yaml', dir.at('config/gw.yaml'))
    const seen = await watching(dir.at('config'))
    for (let round = 2; round <= 4; round++) {
      version(`2026_${round}`, 'next')
      rmSync(dir.at(`config/..2026_${round - 1}`), { recursive: true })
      await seen.next()
    }
  })

  test('a git-sync checkout whose link is swapped above the directory that was named', async () => {
    const checkout = (hash: string) => {
      dir.write(`git/.worktrees/${hash}/deploy/gw/a.yaml`, hash)
      symlinkSync(`.worktrees/${hash}`, dir.at('git/tmp-link'))
      renameSync(dir.at('git/tmp-link'), dir.at('git/current'))
    }
    checkout('aaa')
    const seen = await watching(dir.at('git/current/deploy/gw'))
    for (const hash of ['bbb', 'ccc']) {
      checkout(hash)
      await seen.next()
      // The new checkout is what is watched by now.
      appendFileSync(dir.at(`git/.worktrees/${hash}/deploy/gw/a.yaml`), 'more')
      await seen.next()
    }
  })

  test('being moved away and coming back as another one', async () => {
    dir.write('config/a.yaml', '0')
    const seen = await watching(dir.at('config'))
    renameSync(dir.at('config'), dir.at('old'))
    await seen.next()
    dir.write('config/a.yaml', '1')
    await seen.next()
    dir.write('config/a.yaml', '2')
    await seen.next()
  })
})

test('a single file is watched through whatever replaces it', async () => {
  const file = dir.write('gw.yaml', '0')
  const seen = await watching(file)
  for (let round = 1; round <= 2; round++) {
    writeFileSync(`${file}.new`, String(round))
    renameSync(`${file}.new`, file)
    await seen.next()
  }
  unlinkSync(file)
  await seen.next()
  writeFileSync(file, '3')
  await seen.next()
})

test('a storm of saves is one change', async () => {
  const file = dir.write('config/a.yaml', '0')
  const seen = await watching(dir.at('config'))
  for (let save = 0; save < 40; save++) writeFileSync(file, String(save))
  await seen.next()
  await pause(QUIET_MS)
  expect(seen.changes).toBe(1)
})

test('a file that is written without end is reported all the same', async () => {
  const file = dir.write('config/a.yaml', '0')
  const seen = await watching(dir.at('config'))
  const writer = setInterval(() => appendFileSync(file, '#'), 20)
  onTestFinished(() => clearInterval(writer))
  await seen.next()
  await seen.next()
})

test('what no loader reads is ignored: databases, backups, swap files, other files above', async () => {
  dir.write('config/a.yaml', '0')
  const database = dir.write('config/gw.db-wal', '0')
  const above = dir.write('other.yaml', '0')
  const seen = await watching(dir.at('config'))
  for (let round = 0; round < 5; round++) {
    writeFileSync(database, String(round))
    writeFileSync(above, String(round))
    writeFileSync(dir.at('config/a.yaml~'), String(round))
    mkdirSync(dir.at(`beside-${round}`))
    await pause(20)
  }
  await pause(QUIET_MS)
  expect(seen.changes).toBe(0)
  utimesSync(dir.at('config/a.yaml'), new Date(), new Date())
  await seen.next()
})

test('nothing is reported any more once the watch is closed', async () => {
  dir.write('config/a.yaml', '0')
  const seen = await watching(dir.at('config'))
  dir.write('config/a.yaml', '1')
  await seen.watch.close()
  dir.write('config/a.yaml', '2')
  await pause(QUIET_MS)
  expect(seen.changes).toBe(0)
})
