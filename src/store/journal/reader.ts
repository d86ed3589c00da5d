import { closeSync, openSync, readSync } from 'node:fs'
import type { Row } from '../ledger/messages.ts'
import { ByteReader, TextCache } from './bytes.ts'
import { listSegments, segmentPath } from './files.ts'
import {
  decodeHeader,
  FORMAT_VERSION,
  HEADER_BYTES,
  lengthAt,
  mayBePiece,
  PIECE_HEADER_BYTES,
  type PieceHeader,
  pieceAt,
  type SegmentHeader,
  seedOf,
} from './format.ts'
import { decodeRow } from './row-codec.ts'

/** Read at once: more than most turns write. */
const WINDOW_BYTES = 65_536

const NOTHING = Buffer.alloc(0)

/** A row with its number. */
export interface NumberedRow {
  readonly number: number
  readonly row: Row
}

/** A journal that cannot be read to its end, with the reason for the operator. */
export class JournalDamaged extends Error {
  override readonly name = 'JournalDamaged'
}

/** A segment whose header is complete. */
interface Found {
  readonly header: SegmentHeader
  readonly number: number
  readonly seed: number
}

/** Reads the rows of a journal in their order, each once, also while another thread writes it. Blocks its thread. */
export class JournalReader {
  readonly #folder: string
  readonly #journalId: string
  readonly #isLive: boolean
  #nextRow: number
  #segment: Found | undefined
  /** Bytes of the segment, from {@link #from} on. */
  #bytes: Buffer = NOTHING
  #from = 0
  /** Of these bytes, if rows of them were read. */
  #rows: ByteReader | undefined
  readonly #texts = new TextCache()
  /** The segment that was read at the last {@link takeFinished}. */
  #finishedAt = 0
  /** The offset of the next piece in the segment. */
  #at = HEADER_BYTES
  /** Where the search for the next row ended, for a message. */
  #misfit: { readonly number: number; readonly at: number } | undefined

  /**
   * @param nextRow The number of the first row that is wanted.
   * @param isLive Another process may write meanwhile: what cannot be read is the end, not damage.
   */
  constructor(folder: string, journalId: string, nextRow: number, isLive = false) {
    this.#isLive = isLive
    this.#folder = folder
    this.#journalId = journalId
    this.#nextRow = nextRow
  }

  /** The number of the row that is read next. */
  get nextRow(): number {
    return this.#nextRow
  }

  /**
   * Segments of the process that is read that have no row from {@link nextRow} on, nor will have one. Empty while the reader
   * has not gone on to another segment since the last time.
   */
  takeFinished(): readonly number[] {
    const current = this.#segment?.number ?? 0
    if (current === this.#finishedAt) return []
    const found = this.#segments()
    this.#finishedAt = current
    const isOver = ({ number, header }: Found) =>
      number < current &&
      found.some(
        later =>
          later.number > number &&
          later.header.firstRow > header.firstRow &&
          later.header.firstRow <= this.#nextRow,
      )
    return found.filter(isOver).map(({ number }) => number)
  }

  /**
   * The rows that follow, a whole piece at a time, until there are `limit` of them.
   * @param upTo The last row that was written, by a journal that is open; absent: all rows.
   * @throws {JournalDamaged} if acknowledged rows are missing, or another store or a newer gw wrote the journal.
   */
  read(limit: number, upTo = Number.POSITIVE_INFINITY): readonly NumberedRow[] {
    const rows: NumberedRow[] = []
    try {
      while (rows.length < limit && this.#nextRow <= upTo) {
        const piece = this.#segment && this.#pieceHere(this.#segment)
        if (piece) this.#take(piece, rows)
        else if (!this.#goOn(upTo)) break
      }
    } catch (error) {
      // Rows that were taken must reach the caller; the next call finds the same error.
      if (rows.length === 0) throw error
    }
    return rows
  }

  #take(piece: PieceHeader, rows: NumberedRow[]): void {
    const from = this.#at - this.#from + PIECE_HEADER_BYTES
    const reader = (this.#rows ??= new ByteReader(this.#bytes, 0, 0, this.#texts))
    reader.seek(from, from + piece.length)
    for (let number = piece.firstRow; number < piece.firstRow + piece.rows; number++) {
      const row = decodeRow(reader)
      // Rows that were written again after a fault were read before.
      if (number < this.#nextRow) continue
      rows.push({ number, row })
      this.#nextRow = number + 1
    }
    this.#at += PIECE_HEADER_BYTES + piece.length
  }

  /** The next piece of the segment, if it continues the rows that were read. */
  #pieceHere(segment: Found): PieceHeader | undefined {
    const piece =
      pieceAt(this.#bytes, this.#at - this.#from, segment.seed) ?? this.#load(segment, WINDOW_BYTES)
    return piece && piece.firstRow <= this.#nextRow ? piece : undefined
  }

  /** Reads the bytes from the next piece on anew: they may have been written since the last time. */
  #load({ number, header, seed }: Found, bytes: number): PieceHeader | undefined {
    const length = Math.max(0, Math.min(bytes, header.bytes - this.#at))
    const loaded = this.#bytes.length === length ? this.#bytes : Buffer.alloc(length)
    this.#forget()
    readInto(segmentPath(this.#folder, number), loaded, this.#at)
    this.#bytes = loaded
    this.#from = this.#at
    const piece = pieceAt(this.#bytes, 0, seed)
    const isLonger = length === bytes && bytes < header.bytes && lengthAt(this.#bytes, 0) > bytes
    return piece ?? (isLonger ? this.#load({ number, header, seed }, header.bytes) : undefined)
  }

  /**
   * Goes on to a segment that has the next row. After a fault, rows were written again: any segment may have it.
   * @returns false if there is none, which is the end.
   */
  #goOn(upTo: number): boolean {
    const found = this.#segments()
    for (const segment of found.toReversed()) {
      const isOther = segment.number !== this.#segment?.number
      if (isOther && segment.header.firstRow <= this.#nextRow && this.#seek(segment)) return true
    }
    if (!this.#isLive) this.#assertWhole(found, upTo)
    return false
  }

  /** Goes to the piece of a segment that has the next row. @returns false, and stays, if there is none. */
  #seek(segment: Found): boolean {
    const before = { segment: this.#segment, at: this.#at }
    this.#segment = segment
    this.#at = HEADER_BYTES
    this.#forget()
    for (;;) {
      const piece = this.#pieceHere(segment)
      if (!piece) break
      if (piece.firstRow + piece.rows > this.#nextRow) return true
      this.#at += PIECE_HEADER_BYTES + piece.length
    }
    this.#misfit = { number: segment.number, at: this.#at }
    this.#segment = before.segment
    this.#at = before.at
    this.#forget()
    return false
  }

  #forget(): void {
    this.#bytes = NOTHING
    this.#from = 0
    this.#rows = undefined
  }

  /** The segments that the last process has begun, in order: what earlier ones wrote was folded when it started. */
  #segments(): readonly Found[] {
    const found: Found[] = []
    for (const number of listSegments(this.#folder)) {
      const bytes = readStart(segmentPath(this.#folder, number))
      const header = bytes && decodeHeader(bytes)
      if (bytes && !header && bytes.some(byte => byte !== 0))
        throw new JournalDamaged(`the header of ${segmentPath(this.#folder, number)} is damaged`)
      // Prepared and not begun, or begun under its earlier number.
      if (!bytes || !header || header.number !== number) continue
      if (header.journalId !== this.#journalId)
        throw new JournalDamaged(`${segmentPath(this.#folder, number)} belongs to another store`)
      if (header.version > FORMAT_VERSION)
        throw new JournalDamaged(`${segmentPath(this.#folder, number)} was written by a newer gw`)
      found.push({ header, number, seed: seedOf(bytes) })
    }
    const process = found.at(-1)?.header.firstSegment
    return found.filter(({ header }) => header.firstSegment === process)
  }

  /**
   * The next row is nowhere. That is the end of the journal, unless a later piece says that the row was durable when it
   * was written.
   * @throws {JournalDamaged}
   */
  #assertWhole(found: readonly Found[], upTo: number): void {
    const here = this.#segment
    const rest = found.map(each => ({
      ...each,
      from: each.number === here?.number ? this.#at : HEADER_BYTES,
    }))
    let lostRow = Number.isFinite(upTo) ? upTo : 0
    for (const { number, seed, header, from } of rest) {
      const bytes = Buffer.alloc(header.bytes - from)
      readInto(segmentPath(this.#folder, number), bytes, from)
      lostRow = Math.max(lostRow, durableIn(bytes, seed, header.firstRow))
    }
    if (lostRow < this.#nextRow) return
    const end = here ? { number: here.number, at: this.#at } : this.#misfit
    const place = end ? `${segmentPath(this.#folder, end.number)}, byte ${end.at}` : this.#folder
    throw new JournalDamaged(
      `the rows ${this.#nextRow} to ${lostRow} of the journal are missing or damaged (${place})`,
    )
  }
}

/** The highest durable row that a piece reports. After damaged bytes, a piece may begin anywhere. */
function durableIn(bytes: Buffer, seed: number, firstRow: number): number {
  let durableRow = 0
  for (let at = 0; at + PIECE_HEADER_BYTES < bytes.length; ) {
    const piece = mayBePiece(bytes, at, firstRow) ? pieceAt(bytes, at, seed) : undefined
    if (piece) durableRow = Math.max(durableRow, piece.durableRow)
    at += piece ? PIECE_HEADER_BYTES + piece.length : 1
  }
  return durableRow
}

function readStart(path: string): Buffer | undefined {
  const bytes = Buffer.alloc(HEADER_BYTES)
  try {
    return readInto(path, bytes, 0) === HEADER_BYTES ? bytes : undefined
  } catch (error) {
    // Renamed or removed meanwhile: its rows are not needed any more.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Fills `bytes` from an offset of the file on, as far as the file goes. @returns how many bytes it has. */
function readInto(path: string, bytes: Buffer, from: number): number {
  const file = openSync(path, 'r')
  try {
    let count = 0
    while (count < bytes.length) {
      const more = readSync(file, bytes, count, bytes.length - count, from + count)
      if (more === 0) break
      count += more
    }
    return count
  } finally {
    closeSync(file)
  }
}
