import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { WhenOver } from './when-over.ts'

export interface TempDir {
  /** Absolute, with every link resolved, so that it equals what a process running in it prints. */
  readonly path: string
  /** The absolute path of a file inside it. */
  at(file: string): string
  /** Writes a file, its folders included, and gives back its absolute path. */
  write(file: string, content: string | Uint8Array): string
}

/** A real, empty folder that is gone when the test is: `tempDir(onTestFinished)` or `tempDir(afterAll)`. */
export function tempDir(whenOver: WhenOver): TempDir {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'gw-test-')))
  whenOver(() => rmSync(path, { recursive: true, force: true, maxRetries: 3 }))
  return {
    path,
    at: file => join(path, file),
    write(file, content) {
      const full = join(path, file)
      mkdirSync(dirname(full), { recursive: true })
      writeFileSync(full, content)
      return full
    },
  }
}
