import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { type JournalFiles, type SegmentFile, segmentPath } from '../../../src/store/journal/files.ts'

const SECTOR_BYTES = 512

interface Sector {
  readonly file: number
  readonly at: number
  readonly bytes: Buffer
}

/** Whether each of the sectors that were not synced reached the disk when the power failed. */
export type Survives = (sector: number) => boolean

/**
 * A disk that keeps what was synced, and of the rest any sectors, in any order. Operations on whole files are durable
 * when their promise resolves.
 */
export class SimulatedDisk implements JournalFiles {
  readonly #durable = new Map<number, Buffer>()
  /** In the order of the writes. */
  #volatile: Sector[] = []
  #syncs: { readonly covers: readonly Sector[]; readonly done: (error?: Error) => void }[] = []
  failsToWrite = false
  failsToPrepare = false

  /** Syncs that have begun and not ended. */
  get syncing(): number {
    return this.#syncs.length
  }

  /** Ends the oldest sync. @param error It has failed: the system forgets what it had of these sectors. */
  endSync(error?: Error): void {
    const sync = this.#syncs.shift()
    if (!sync) return
    this.#volatile = this.#volatile.filter(sector => !sync.covers.includes(sector))
    if (!error) for (const sector of sync.covers) this.#store(sector)
    sync.done(error)
  }

  /** The power fails: of what was not synced, some sectors are on the disk. Later operations of the process have no effect. */
  cut(survives: Survives): SimulatedDisk {
    const after = new SimulatedDisk()
    for (const [number, bytes] of this.#durable) after.#durable.set(number, Buffer.from(bytes))
    for (const [index, sector] of this.#volatile.entries()) if (survives(index)) after.#store(sector)
    return after
  }

  /** Writes the files into a folder, as a process sees them that reads now. */
  copyTo(folder: string): void {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    const seen = this.cut(() => true)
    for (const [number, bytes] of seen.#durable) writeFileSync(segmentPath(folder, number), bytes)
  }

  list(): readonly number[] {
    return [...this.#durable.keys()].sort((a, b) => a - b)
  }

  async prepare(number: number, bytes: number): Promise<void> {
    if (this.failsToPrepare) throw new Error('no space left on device')
    this.#durable.set(number, Buffer.alloc(bytes))
  }

  async recycle(number: number, as: number): Promise<void> {
    if (this.failsToPrepare) throw new Error('input/output error')
    const bytes = this.#durable.get(number)
    if (!bytes) throw new Error(`there is no segment ${number}`)
    this.#durable.delete(number)
    this.#durable.set(as, bytes)
  }

  async remove(number: number): Promise<void> {
    this.#durable.delete(number)
  }

  open(number: number): SegmentFile {
    const bytes = this.#durable.get(number)?.length
    if (bytes === undefined) throw new Error(`there is no segment ${number}`)
    return {
      bytes,
      write: (piece, at) => this.#write(number, piece, at),
      sync: () => this.#sync(number),
      close: () => undefined,
    }
  }

  #write(file: number, piece: Buffer, at: number): void {
    if (this.failsToWrite) throw new Error('input/output error')
    for (let from = 0; from < piece.length; ) {
      const end = Math.min(piece.length, from + SECTOR_BYTES - ((at + from) % SECTOR_BYTES))
      this.#volatile.push({ file, at: at + from, bytes: Buffer.from(piece.subarray(from, end)) })
      from = end
    }
  }

  #sync(file: number): Promise<void> {
    const covers = this.#volatile.filter(sector => sector.file === file)
    return new Promise((resolve, reject) => {
      this.#syncs.push({ covers, done: error => (error ? reject(error) : resolve()) })
    })
  }

  #store({ file, at, bytes }: Sector): void {
    const target = this.#durable.get(file)
    if (target) bytes.copy(target, at)
  }
}
