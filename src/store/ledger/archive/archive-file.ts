import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { CommandError } from '../../../base/catalogue/command.ts'
import { iso } from '../../../base/iso.ts'
import {
  ARCHIVE_FORMAT,
  type ArchivedEntry,
  type ArchiveEnd,
  type ArchiveHeader,
  archiveHeader,
} from '../../../schema/archive.ts'

/** What an archive has, before its entries are read. */
export type ArchiveRange = Pick<ArchiveHeader, 'first_id' | 'last_id' | 'currency' | 'names' | 'prices'> & {
  readonly beforeMs: number
}

/**
 * Writes a new file, which only its owner may read, and synced to the disk by the caller. Returns how many entries it has.
 * @throws errors of the file system: EEXIST if there is such a file
 */
export async function writeArchive(
  path: string,
  { beforeMs, ...range }: ArchiveRange,
  pages: Iterable<readonly ArchivedEntry[]> | AsyncIterable<readonly ArchivedEntry[]>,
): Promise<number> {
  let entries = 0
  async function* lines(): AsyncGenerator<string, void> {
    const header: ArchiveHeader = { format: ARCHIVE_FORMAT, version: 1, before: iso(beforeMs), ...range }
    yield `${JSON.stringify(header)}\n`
    for await (const page of pages) {
      entries += page.length
      yield page.map(entry => `${JSON.stringify(entry)}\n`).join('')
    }
    yield `${JSON.stringify({ entries } satisfies ArchiveEnd)}\n`
  }
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
  await pipeline(Readable.from(lines()), createGzip(), file)
  return entries
}

/** The header and then the entries, some hundred at a time, oldest first. @throws {CommandError} archive_damaged */
export async function* readArchive(path: string): AsyncGenerator<readonly ArchivedEntry[], void> {
  const file = createReadStream(path)
  const gunzip = createGunzip()
  file.on('error', error => gunzip.destroy(error))
  const text = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  let header: ArchiveHeader | undefined
  let end: ArchiveEnd | undefined
  let entries = 0
  try {
    for await (const chunk of file.pipe(gunzip) as AsyncIterable<Buffer>) {
      const lines = (rest + text.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      if (!header && lines.length > 0) header = archiveHeader.parse(JSON.parse(lines.shift() ?? ''))
      if (lines.length === 0) continue
      const page = JSON.parse(`[${lines.join(',')}]`) as (ArchivedEntry | ArchiveEnd)[]
      if (end) throw new Error('there is more after its end')
      if (isEnd(page.at(-1))) end = page.pop() as ArchiveEnd
      entries += page.length
      yield page as ArchivedEntry[]
    }
    if (!end || rest !== '') throw new Error('it has no end')
    if (end.entries !== entries) throw new Error(`it has ${entries} entries instead of ${end.entries}`)
  } catch (error) {
    throw new CommandError(
      'archive_damaged',
      `${path} is not an intact archive: ${(error as Error).message}`,
      {
        cause: error,
      },
    )
  } finally {
    file.destroy()
  }
}

/** The SHA-256 of a file, in hexadecimal digits. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

function isEnd(line: ArchivedEntry | ArchiveEnd | undefined): line is ArchiveEnd {
  return line !== undefined && 'entries' in line
}
