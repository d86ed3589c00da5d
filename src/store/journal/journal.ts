import type { Clock, Timer } from '../../base/clock.ts'
import type { Durability } from '../../schema/settings.ts'
import type { Row } from '../ledger/messages.ts'
import { ByteWriter } from './bytes.ts'
import type { JournalFiles, SegmentFile } from './files.ts'
import {
  encodeHeader,
  FORMAT_VERSION,
  HEADER_BYTES,
  PIECE_HEADER_BYTES,
  sealPiece,
  seedOf,
} from './format.ts'
import { encodeRow } from './row-codec.ts'
import { SEGMENT_BYTES, SegmentSupply } from './segment-supply.ts'

/** A turn with more rows is written in several pieces. */
const MAX_PIECE_BYTES = 262_144
/** A longer row is rejected: no call has one. */
const MAX_ROW_BYTES = 262_144
/** Rows that no caller waits for become durable after this time. */
const SYNC_AFTER_MS = { power: 2, kill: 1_000 } as const
const FIRST_RETRY_MS = 250
const LONGEST_RETRY_MS = 5_000
/** A sync that takes longer is a problem. */
const STALLED_AFTER_MS = 5_000

export interface JournalOptions {
  readonly files: JournalFiles
  readonly clock: Clock
  /** Runs a task at the end of the turn of the event loop. */
  readonly atTurnEnd: (task: () => void) => void
  readonly journalId: string
  /** The number of the first row. */
  readonly firstRow: number
  /** The size of segments; 16 MiB by default. */
  readonly segmentBytes?: number
  /** Rows cannot be written, or soon not any more. Called once per outage. */
  readonly onProblem: (error: Error) => void
  readonly onRecovered: () => void
}

interface Promised {
  readonly row: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

interface Piece {
  readonly firstRow: number
  readonly rows: number
  /** The rows, after room for the header. */
  readonly bytes: Buffer
}

interface Segment {
  readonly number: number
  readonly file: SegmentFile
  readonly seed: number
  /** Where the next piece begins. */
  at: number
}

/**
 * Appends rows to the journal of one process: one write for all rows of a turn of the event loop, and one wait for the
 * disk for all rows that were written meanwhile (decision 0028).
 *
 *     append ──▶ end of the turn: one write ──▶ written ──▶ sync, one at a time ──▶ durable
 *                  │                                           │
 *                  segment full: the spare one                 failed: all that is not durable again, to the spare one
 */
export class Journal {
  readonly #options: JournalOptions
  /** The rows of this turn, after room for the header. */
  readonly #turn = new ByteWriter(MAX_PIECE_BYTES)
  #turnRows = 0
  #isScheduled = false
  #nextRow: number
  #writtenRow: number
  #durableRow: number
  #durability: Durability = 'power'

  #current: Segment | undefined
  /** Earlier segments with bytes that are not durable yet. */
  #full: SegmentFile[] = []
  readonly #supply: SegmentSupply
  /** The first segment of this process. */
  readonly #firstSegment: number

  /** Pieces that could not be written yet. */
  #unwritten: Piece[] = []
  /** Pieces that are not durable yet, to be written again if the disk fails. */
  #undurable: Piece[] = []
  #writing: Promised[] = []
  #waiting: Promised[] = []
  /** The last row that must become durable. */
  #wantedRow = 0
  #syncing: Promise<void> | undefined
  #syncTimer: Timer | undefined
  /** The segment of the sync in progress was given up: its result says what need not be written again. */
  #isAbandoned = false
  #stallTimer: Timer | undefined

  #problem: Error | undefined
  #retryMs = FIRST_RETRY_MS
  #retryTimer: Timer | undefined
  #isClosed = false

  private constructor(options: JournalOptions) {
    this.#options = options
    this.#turn.skip(PIECE_HEADER_BYTES)
    this.#nextRow = options.firstRow
    this.#writtenRow = options.firstRow - 1
    this.#durableRow = this.#writtenRow
    this.#supply = new SegmentSupply(options.files, options.segmentBytes ?? SEGMENT_BYTES, {
      onPrepared: () => this.#onPrepared(),
      onError: error => this.#onUnprepared(error),
    })
    this.#firstSegment = this.#supply.firstNumber
  }

  /**
   * Begins a segment of its own after those of earlier processes, which may be read to their end first.
   * @throws {NodeJS.ErrnoException} if the folder cannot be written.
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const journal = new Journal(options)
    await journal.#supply.prepareFirst()
    // From here on no row that an earlier process left is read again, also if this one is cut off before its first row.
    await journal.#begin(options.firstRow)?.file.sync()
    return journal
  }

  /** Whether a hold that is appended now can be written, and its end later. */
  get healthy(): boolean {
    return this.#problem === undefined && !this.#isClosed
  }

  /** The last written row: rows beyond cannot be read yet. */
  get writtenRow(): number {
    return this.#writtenRow
  }

  /** `power` at first. For the next rows. */
  setDurability(durability: Durability): void {
    this.#durability = durability
    if (durability === 'kill') this.#waiting = settled(this.#waiting, this.#writtenRow)
  }

  /**
   * Appends a row, which is written at the end of the turn.
   * @returns its number.
   * @throws {RangeError} for a row that cannot be stored; nothing is appended then.
   */
  append(row: Row): number {
    const before = this.#turn.length
    try {
      encodeRow(this.#turn, row)
      if (this.#turn.length - before > MAX_ROW_BYTES) throw new RangeError('the row is too long')
    } catch (error) {
      this.#turn.truncate(before)
      throw error
    }
    this.#turnRows++
    this.#nextRow++
    if (this.#turn.length >= MAX_PIECE_BYTES) this.#flush()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      this.#options.atTurnEnd(() => {
        this.#isScheduled = false
        this.#flush()
      })
    }
    return this.#nextRow - 1
  }

  /** Resolves when the row is written: then it survives the process. Rejects as soon as a write fails; it may be written later. */
  written(row: number): Promise<void> {
    if (row <= this.#writtenRow) return Promise.resolve()
    if (this.#problem) return Promise.reject(this.#problem)
    return new Promise((resolve, reject) => this.#writing.push({ row, resolve, reject }))
  }

  /**
   * Resolves when the row is acknowledged: durable, or with `durability: kill` written. During an outage it waits.
   * Undefined if it is acknowledged already.
   */
  acknowledged(row: number): Promise<void> | undefined {
    const isPower = this.#durability === 'power'
    if (row <= (isPower ? this.#durableRow : this.#writtenRow)) return undefined
    const promise = new Promise<void>((resolve, reject) => this.#waiting.push({ row, resolve, reject }))
    if (isPower) {
      this.#wantedRow = Math.max(this.#wantedRow, row)
      this.#sync()
    }
    return promise
  }

  /** The reader needs these segments no more. */
  release(numbers: readonly number[]): void {
    this.#supply.release(numbers)
  }

  /**
   * Writes what was appended and waits until it is durable, for at most `withinMs`.
   * @param isFolded All rows are in the store: the segments are removed.
   * @returns how many rows were not acknowledged.
   */
  async close(withinMs: number, isFolded: boolean): Promise<number> {
    this.#flush()
    const last = this.#nextRow - 1
    let timer: Timer | undefined
    const timeout = new Promise<void>(resolve => {
      timer = this.#options.clock.after(withinMs, resolve)
    })
    await Promise.race([this.acknowledged(last)?.catch(() => undefined), timeout])
    this.#isClosed = true
    this.#retryTimer?.cancel()
    this.#syncTimer?.cancel()
    this.#stallTimer?.cancel()
    await Promise.race([Promise.all([this.#syncing, this.#supply.close()]), timeout])
    timer?.cancel()
    const ended = new Error('the journal is closed')
    for (const { reject } of [...this.#writing, ...this.#waiting]) reject(ended)
    for (const file of [...this.#full, ...(this.#current ? [this.#current.file] : [])]) file.close()
    if (isFolded) await this.#supply.removeAll()
    return isFolded ? 0 : last - (this.#durability === 'power' ? this.#durableRow : this.#writtenRow)
  }

  #flush(): void {
    if (this.#turnRows === 0) return
    const rows = this.#turnRows
    this.#unwritten.push({ firstRow: this.#nextRow - rows, rows, bytes: Buffer.from(this.#turn.bytes) })
    this.#turn.truncate(PIECE_HEADER_BYTES)
    this.#turnRows = 0
    // If earlier pieces wait for a retry, this one does as well.
    if (this.#unwritten.length === 1) this.#write()
  }

  #write(): void {
    if (this.#isClosed || this.#isAbandoned) return
    try {
      for (let piece = this.#unwritten[0]; piece; piece = this.#unwritten[0]) {
        const segment = this.#segmentFor(piece)
        // The preparation goes on here, or reports why it cannot.
        if (!segment) break
        this.#writePiece(piece, segment)
        this.#unwritten.shift()
        this.#writtenRow = Math.max(this.#writtenRow, piece.firstRow + piece.rows - 1)
        this.#undurable.push(piece)
      }
    } catch (error) {
      this.#abandon()
      this.#report(error as Error)
    }
    this.#writing = settled(this.#writing, this.#writtenRow)
    if (this.#durability === 'kill') this.#waiting = settled(this.#waiting, this.#writtenRow)
    this.#sync()
    this.#syncSoon()
  }

  #writePiece({ bytes, firstRow, rows }: Piece, segment: Segment): void {
    sealPiece(bytes, segment.seed, { firstRow, rows, durableRow: this.#durableRow })
    segment.file.write(bytes, segment.at)
    segment.at += bytes.length
    if (segment.at > segment.file.bytes / 4) this.#supply.prepare()
  }

  /** The segment that has room for a piece; undefined until one is prepared. */
  #segmentFor({ bytes, firstRow }: Piece): Segment | undefined {
    const current = this.#current
    if (current && current.at + bytes.length <= current.file.bytes) return current
    if (!this.#supply.hasSpare) this.#supply.prepare()
    return this.#begin(firstRow)
  }

  /** Begins the spare segment; undefined if there is none. */
  #begin(firstRow: number): Segment | undefined {
    const current = this.#current
    const number = this.#supply.take()
    if (number === undefined) return undefined
    const file = this.#options.files.open(number)
    const { journalId } = this.#options
    const header = encodeHeader({
      version: FORMAT_VERSION,
      bytes: file.bytes,
      journalId,
      number,
      firstRow,
      firstSegment: this.#firstSegment,
    })
    if (current) this.#full = [...this.#full, current.file]
    this.#current = { number, file, seed: seedOf(header), at: HEADER_BYTES }
    file.write(header, 0)
    return this.#current
  }

  #onPrepared(): void {
    if (this.#problem || this.#unwritten.length > 0) this.#retry()
  }

  #onUnprepared(error: Error): void {
    if (this.#unwritten.length > 0 || !this.#hasRoom()) this.#report(error)
    else this.#retryLater()
  }

  /** Gives the current segment up: what is not durable will be written again. */
  #abandon(): void {
    const files = this.#current ? [...this.#full, this.#current.file] : this.#full
    this.#full = []
    this.#current = undefined
    this.#unwritten = [...this.#undurable, ...this.#unwritten]
    this.#undurable = []
    const close = () => files.forEach(closeQuietly)
    this.#isAbandoned = this.#syncing !== undefined
    if (this.#syncing) void this.#syncing.then(close)
    else close()
  }

  #sync(): void {
    if (this.#syncing || this.#isClosed) return
    const upTo = this.#writtenRow
    const [unwritten] = this.#unwritten
    const isAbandoned = unwritten !== undefined && unwritten.firstRow <= upTo
    if (this.#wantedRow <= this.#durableRow || upTo <= this.#durableRow || isAbandoned) return
    this.#watchForStall()
    // The current segment may get more, and become full, until the sync ends.
    const full = this.#full
    const files = this.#current ? [...full, this.#current.file] : full
    this.#syncing = syncAll(files).then(
      () => this.#onSynced(upTo, full),
      (error: Error) => this.#onUnsynced(error),
    )
  }

  /** @param full The full segments of that sync. */
  #onSynced(upTo: number, full: readonly SegmentFile[]): void {
    this.#endSync()
    for (const file of full) if (this.#full.includes(file)) closeQuietly(file)
    this.#full = this.#full.filter(file => !full.includes(file))
    this.#madeDurable(upTo)
    this.#unwritten = this.#unwritten.filter(({ firstRow, rows }) => firstRow + rows > upTo + 1)
    this.#recover()
    this.#sync()
    // A retry may have come while the result of the sync was unknown.
    if (this.#unwritten.length > 0) this.#retryLater()
  }

  /** What the system still has of these bytes is unknown: a second sync may succeed although they are lost. */
  #onUnsynced(error: Error): void {
    this.#endSync()
    this.#abandon()
    this.#report(error)
  }

  #endSync(): void {
    this.#syncing = undefined
    this.#isAbandoned = false
    this.#stallTimer?.cancel()
    this.#stallTimer = undefined
  }

  /** A disk that hangs fails nothing: calls would be dispatched whose answers can never begin. */
  #watchForStall(): void {
    this.#stallTimer = this.#options.clock.after(STALLED_AFTER_MS, () => {
      this.#stallTimer = undefined
      this.#report(new Error(`the disk has not answered for ${STALLED_AFTER_MS} ms`))
    })
  }

  /** For rows without a caller that waits, if no other sync has taken them along. */
  #syncSoon(): void {
    const row = this.#writtenRow
    if (this.#syncTimer || row <= this.#durableRow) return
    this.#syncTimer = this.#options.clock.after(SYNC_AFTER_MS[this.#durability], () => {
      this.#syncTimer = undefined
      this.#wantedRow = Math.max(this.#wantedRow, row)
      this.#sync()
      this.#syncSoon()
    })
  }

  #madeDurable(upTo: number): void {
    this.#durableRow = Math.max(this.#durableRow, upTo)
    const first = this.#undurable.findIndex(({ firstRow, rows }) => firstRow + rows > upTo + 1)
    this.#undurable.splice(0, first === -1 ? this.#undurable.length : first)
    this.#waiting = settled(this.#waiting, upTo)
  }

  #report(error: Error): void {
    const writing = this.#writing
    this.#writing = []
    for (const { reject } of writing) reject(error)
    if (!this.#problem) {
      this.#problem = error
      this.#options.onProblem(error)
    }
    this.#retryLater()
  }

  #retryLater(): void {
    if (this.#retryTimer || this.#isClosed) return
    this.#retryTimer = this.#options.clock.after(this.#retryMs, () => {
      this.#retryTimer = undefined
      this.#retry()
    })
    this.#retryMs = Math.min(2 * this.#retryMs, LONGEST_RETRY_MS)
  }

  #retry(): void {
    if (!this.#supply.hasSpare) return this.#supply.prepare()
    this.#wantedRow = Math.max(this.#wantedRow, this.#nextRow - 1)
    this.#write()
    if (this.#unwritten.length === 0 && !this.#syncing) this.#recover()
  }

  /** Whether there is room for the ends of the holds that may be opened now. */
  #hasRoom(): boolean {
    const current = this.#current
    return this.#supply.hasSpare || (current !== undefined && current.at <= current.file.bytes / 2)
  }

  #recover(): void {
    if (this.#unwritten.length > 0 || this.#syncing || !this.#hasRoom()) return
    this.#retryMs = FIRST_RETRY_MS
    if (!this.#problem) return
    this.#problem = undefined
    this.#options.onRecovered()
  }
}

/** Resolves what is promised for rows up to a number. @returns the others. */
function settled(promised: Promised[], upTo: number): Promised[] {
  if (promised.length === 0) return promised
  const others: Promised[] = []
  for (const each of promised) {
    if (each.row <= upTo) each.resolve()
    else others.push(each)
  }
  return others
}

/** In order: no later segment may be durable before an earlier one. */
async function syncAll(files: readonly SegmentFile[]): Promise<void> {
  for (const file of files) await file.sync()
}

/** Nothing depends on the result: the bytes are durable, or will be written again. */
function closeQuietly(file: SegmentFile): void {
  try {
    file.close()
  } catch {
    // The descriptor is gone in any case.
  }
}
