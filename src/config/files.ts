import { isUtf8 } from 'node:buffer'
import type { Stats } from 'node:fs'
import { lstat, open, readdir, realpath, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { ConfigCode } from '../base/catalogue/config.ts'
import type { Report } from './report.ts'
import { Source } from './source.ts'
import type { LoadPorts } from './types.ts'

/** The file size limit. */
const FILE_LIMIT_BYTES = 16 * 1_048_576
const YAML_FILE = /\.ya?ml$/
/** Test files are not part of the configuration. */
const TEST_FILE = /\.test\.ya?ml$/
const STDIN = '-'
const STDIN_NAME = '<stdin>'

/** The kind of files to read from a directory. An explicitly named file is always read. */
export type Wanted = 'configuration' | 'tests'

/** The readable files of a tree. */
export interface Files {
  readonly sources: readonly Source[]
  /** Whether a file could not be read, so that names may be missing. */
  readonly incomplete: boolean
}

/**
 * Reads every file of the paths: a file, a directory with everything below it, or `-` for stdin. A file that is
 * reached twice, by two paths or a link (a Kubernetes ConfigMap consists of links), is read once. Hidden files and
 * `node_modules` are skipped.
 */
export async function readFiles(
  paths: readonly string[],
  ports: LoadPorts,
  report: Report,
  wanted: Wanted = 'configuration',
): Promise<Files> {
  const reader = new FileReader(ports, report, wanted)
  for (const path of paths) await reader.path(path)
  return { sources: reader.sources, incomplete: reader.incomplete }
}

const NOTHING_FOUND: Readonly<Record<Wanted, string>> = {
  configuration: 'no .yaml or .yml file in this directory',
  tests: 'no .test.yaml or .test.yml file in this directory',
}

class FileReader {
  readonly sources: Source[] = []
  incomplete = false
  readonly #ports: LoadPorts
  readonly #report: Report
  readonly #wanted: Wanted
  /** Real paths of the visited files and directories. */
  readonly #seen = new Set<string>()
  #order = 0
  /** The number of files with a YAML name, including repeated ones. */
  #yamlFiles = 0

  constructor(ports: LoadPorts, report: Report, wanted: Wanted) {
    this.#ports = ports
    this.#report = report
    this.#wanted = wanted
  }

  async path(path: string): Promise<void> {
    if (path === STDIN) {
      if (!this.#isNew(STDIN)) return
      this.#accept(STDIN_NAME, await this.#ports.readStdin())
      return
    }
    const found = await this.#stat(path)
    if (found === undefined) return
    if (!found.stats.isDirectory()) {
      if (this.#isNew(found.real)) await this.#read(path, found.stats)
      return
    }
    const before = this.#yamlFiles
    const isRead = await this.#directory(path, found.real)
    if (isRead && this.#yamlFiles === before)
      this.#reject('directory_empty', path, NOTHING_FOUND[this.#wanted])
  }

  /**
   * Returns false if unreadable. Sorted, so that the order of problems and merges does not depend on the file system.
   */
  async #directory(path: string, real: string): Promise<boolean> {
    if (!this.#isNew(real)) return true
    let names: string[]
    try {
      names = await readdir(this.#at(path))
    } catch (error) {
      this.#reject('path_unreadable', path, reasonOf(error))
      return false
    }
    for (const name of names.sort()) {
      if (name.startsWith('.') || name === 'node_modules') continue
      const inner = join(path, name)
      if (!YAML_FILE.test(name)) await this.#subdirectory(inner)
      else if (TEST_FILE.test(name) === (this.#wanted === 'tests')) await this.#entry(inner)
    }
    return true
  }

  async #entry(path: string): Promise<void> {
    this.#yamlFiles++
    const found = await this.#stat(path)
    if (found === undefined) return
    if (found.stats.isDirectory()) await this.#directory(path, found.real)
    else if (found.stats.isFile() && this.#isNew(found.real)) await this.#read(path, found.stats)
  }

  /** Other names matter only if they are directories, or links that may be: what is behind one must not be deleted. */
  async #subdirectory(path: string): Promise<void> {
    const at = this.#at(path)
    const own = await lstat(at).catch(() => undefined)
    const found = own?.isSymbolicLink() ? await this.#stat(path) : own && { stats: own, real: at }
    if (found?.stats.isDirectory()) await this.#directory(path, await realpath(at))
  }

  async #stat(path: string): Promise<{ stats: Stats; real: string } | undefined> {
    try {
      const at = this.#at(path)
      return { stats: await stat(at), real: await realpath(at) }
    } catch (error) {
      this.#reject('path_unreadable', path, reasonOf(error))
      return undefined
    }
  }

  /** Resolves a path against the folder; messages show the path as it was given. */
  #at(path: string): string {
    return resolve(this.#ports.folder ?? '.', path)
  }

  #isNew(real: string): boolean {
    if (this.#seen.has(real)) return false
    this.#seen.add(real)
    return true
  }

  async #read(path: string, stats: Stats): Promise<void> {
    if (stats.isFile() && stats.size > FILE_LIMIT_BYTES) {
      this.#reject('file_too_large', path, `${stats.size} bytes`)
      return
    }
    try {
      this.#accept(path, await readUpTo(this.#at(path), FILE_LIMIT_BYTES + 1))
    } catch (error) {
      this.#reject('path_unreadable', path, reasonOf(error))
    }
  }

  #accept(file: string, bytes: Buffer): void {
    if (bytes.length > FILE_LIMIT_BYTES) {
      this.#reject('file_too_large', file, `more than ${FILE_LIMIT_BYTES} bytes`)
      return
    }
    const isText = isUtf8(bytes)
    const readable = isText ? bytes : bytes.subarray(0, validPrefix(bytes))
    const source = new Source(file, readable.toString('utf8').replace(/^\u{feff}/u, ''), this.#order++)
    if (isText) {
      this.sources.push(source)
      return
    }
    source.unread = true
    this.incomplete = true
    const start = source.text.length
    this.#report.add({
      code: 'not_utf8',
      span: { source, start, end: start + 1 },
      text: 'not UTF-8 from here on',
    })
  }

  #reject(code: ConfigCode, file: string, text: string): void {
    this.incomplete = true
    const source = new Source(file, '', this.#order++)
    this.#report.add({ code, span: { source, start: 0, end: 0 }, text })
  }
}

/** Reads at most `limit` bytes, so that a pipe or a growing file cannot fill the memory. */
async function readUpTo(path: string, limit: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const pieces: Buffer[] = []
    for (let total = 0; total < limit; ) {
      const piece = Buffer.alloc(Math.min(65_536, limit - total))
      const { bytesRead } = await file.read(piece, 0, piece.length, null)
      if (bytesRead === 0) break
      pieces.push(piece.subarray(0, bytesRead))
      total += bytesRead
    }
    return Buffer.concat(pieces)
  } finally {
    await file.close()
  }
}

/** The length of the longest valid UTF-8 prefix. */
function validPrefix(bytes: Buffer): number {
  let low = 0
  let high = bytes.length
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (decodes(bytes.subarray(0, middle))) low = middle
    else high = middle - 1
  }
  // The last character may be an incomplete part of an invalid one.
  while (low > 0 && !isUtf8(bytes.subarray(0, low))) low--
  return low
}

function decodes(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'ENOENT':
      return 'it does not exist'
    case 'EACCES':
    case 'EPERM':
      return 'no permission to read it'
    case 'ELOOP':
      return 'a link that leads to itself'
    case 'ENOTDIR':
      return 'a part of the path is not a directory'
    default:
      return `it cannot be read${typeof code === 'string' ? ` (${code})` : ''}`
  }
}
