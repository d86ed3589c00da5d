import { closeSync, fdatasync, fstatSync, openSync, readdirSync, writeSync } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { realPath } from '../database.ts'
import { lanesOf, withLane } from '../lanes.ts'

const NAME = /^(\d{12})\.segment$/
const NAME_DIGITS = 12
/** Files are filled with zeros in blocks of this size. */
const BLOCK_BYTES = 1_048_576
const OWNER_ONLY = 0o600
const OWNER_ONLY_FOLDER = 0o700

/** The files of a journal. What a method has done is durable when its promise resolves. */
export interface JournalFiles {
  /** The numbers of all segments, in order: used or prepared. */
  list(): readonly number[]
  /** Creates a segment full of zeros. @throws {NodeJS.ErrnoException} */
  prepare(number: number, bytes: number): Promise<void>
  /** Prepares a segment from one that is no longer needed. @throws {NodeJS.ErrnoException} */
  recycle(number: number, as: number): Promise<void>
  /** @throws {NodeJS.ErrnoException} */
  remove(number: number): Promise<void>
  /** Opens a prepared segment. @throws {NodeJS.ErrnoException} */
  open(number: number): SegmentFile
}

/** A segment that is being written. */
export interface SegmentFile {
  /** The size of the file. */
  readonly bytes: number
  /** Gives the bytes to the operating system, not yet to the disk. @throws {NodeJS.ErrnoException} */
  write(bytes: Buffer, at: number): void
  /** Resolves when everything that was written before is on the disk. @throws {NodeJS.ErrnoException} */
  sync(): Promise<void>
  close(): void
}

/** The folder of the journal of a lane: rows of the ledger that are not in the store yet. */
export function journalFolder(store: string, lane = 0): string {
  return withLane(firstFolder(store), lane)
}

/** The lanes that may have a journal, in order. */
export function journalLanes(store: string): readonly number[] {
  return lanesOf(firstFolder(store))
}

function firstFolder(store: string): string {
  // Two paths to one store must share one journal.
  return `${realPath(store) ?? store}.ledger`
}

/** The path of a segment in the folder of a journal. */
export function segmentPath(folder: string, number: number): string {
  return join(folder, `${String(number).padStart(NAME_DIGITS, '0')}.segment`)
}

/** The numbers of the segments in a folder, in order; none if the folder does not exist. */
export function listSegments(folder: string): readonly number[] {
  try {
    const names = readdirSync(folder).map(name => NAME.exec(name)?.[1])
    return names
      .filter(digits => digits !== undefined)
      .map(Number)
      .sort((a, b) => a - b)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** The files of a journal in a folder of the file system. */
export class JournalFolder implements JournalFiles {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  list(): readonly number[] {
    return listSegments(this.#folder)
  }

  async prepare(number: number, bytes: number): Promise<void> {
    const made = await mkdir(this.#folder, { recursive: true, mode: OWNER_ONLY_FOLDER })
    if (made !== undefined) await syncFolder(dirname(this.#folder))
    const path = segmentPath(this.#folder, number)
    try {
      const file = await open(path, 'wx', OWNER_ONLY)
      try {
        const zeros = Buffer.alloc(Math.min(bytes, BLOCK_BYTES))
        for (let at = 0; at < bytes; )
          at += (await file.write(zeros, 0, Math.min(zeros.length, bytes - at), at)).bytesWritten
        await file.sync()
      } finally {
        await file.close()
      }
    } catch (error) {
      // A file that is not full of zeros is not prepared.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(path, { force: true })
      throw error
    }
    await syncFolder(this.#folder)
  }

  async recycle(number: number, as: number): Promise<void> {
    await rename(segmentPath(this.#folder, number), segmentPath(this.#folder, as))
    await syncFolder(this.#folder)
  }

  async remove(number: number): Promise<void> {
    await rm(segmentPath(this.#folder, number))
  }

  open(number: number): SegmentFile {
    return new OpenSegment(openSync(segmentPath(this.#folder, number), 'r+'))
  }
}

const dataSync = promisify(fdatasync)

class OpenSegment implements SegmentFile {
  readonly bytes: number
  readonly #descriptor: number

  constructor(descriptor: number) {
    this.#descriptor = descriptor
    this.bytes = fstatSync(descriptor).size
  }

  write(bytes: Buffer, at: number): void {
    let written = 0
    while (written < bytes.length)
      written += writeSync(this.#descriptor, bytes, written, bytes.length - written, at + written)
  }

  sync(): Promise<void> {
    return dataSync(this.#descriptor)
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}

/** Makes the entries of a folder durable. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
