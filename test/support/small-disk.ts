import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { tempDir } from './temp-dir.ts'
import type { WhenOver } from './when-over.ts'

/** The path of a file system of some MiB, or why there is none: mounting needs the rights of root. */
export function smallDisk(whenOver: WhenOver, mebibytes = 5): string | Error {
  const { path } = tempDir(whenOver)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path], { stdio: 'pipe' })
  } catch (error) {
    return error as Error
  }
  whenOver(() => void execFileSync('umount', ['--lazy', path]))
  return path
}

/** To the last byte: SQLite finds room in half a page. */
export function fillUp(path: string): void {
  for (let bytes = 1_048_576; bytes >= 1; bytes /= 2) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(bytes), { flag: 'a' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}
