import { closeSync, openSync, readSync } from 'node:fs'
import type { Row } from '../ledger/messages.ts'
import { ByteReader } from './byte-writer.ts'
import { listSegments, segmentPath } from './files.ts'
import {
  decodeHeader,
  FORMAT_VERSION,
  HEADER_BYTES,
  lengthAt,
  PIECE_HEADER_BYTES,
  type PieceHeader,
  pieceAt,
  type SegmentHeader,
  seedOf,
} from './format.ts'
import { decodeRow } from './row-codec.ts'

/** Read at once: more than most turns write. */
const WINDOW_BYTES = 262_144

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
  #nextRow: number
  #segment: Found | undefined
  /** Bytes of the segment, from {@link #from} on. */
  #bytes: Buffer = Buffer.alloc(0)
  #from = 0
  /** The offset of the next piece in the segment. */
  #at = HEADER_BYTES

  /** @param nextRow The number of the first row that is wanted. */
  constructor(folder: string, journalId: string, nextRow: number) {
    this.#folder = folder
    this.#journalId = journalId
    this.#nextRow = nextRow
  }

  /** The number of the row that is read next. */
  get nextRow(): number {
    return this.#nextRow
  }

  /** Segments that have no row from {@link nextRow} on, nor will have one. */
  get finished(): readonly number[] {
    const current = this.#segment?.number ?? 0
    return listSegments(this.#folder).filter(number => number < current)
  }

  /**
   * The rows that follow, a whole piece at a time, until there are `limit` of them.
   * @param upTo The last row that was written, by a journal that is open; absent: all rows.
   * @throws {JournalDamaged} if acknowledged rows are missing, or another store or a newer gw wrote the journal.
   */
  read(limit: number, upTo = Number.POSITIVE_INFINITY): readonly NumberedRow[] {
    const rows: NumberedRow[] = []
    while (rows.length < limit && this.#nextRow <= upTo) {
      const piece = this.#segment && this.#pieceHere(this.#segment)
      if (piece) this.#take(piece, rows)
      else if (!this.#goOn(upTo)) break
    }
    return rows
  }

  #take(piece: PieceHeader, rows: NumberedRow[]): void {
    const from = this.#at - this.#from + PIECE_HEADER_BYTES
    const reader = new ByteReader(this.#bytes, from, from + piece.length)
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
    const length = Math.min(bytes, header.bytes - this.#at)
    if (this.#bytes.length !== length) this.#bytes = Buffer.alloc(Math.max(0, length))
    this.#from = this.#at
    readInto(segmentPath(this.#folder, number), this.#bytes, this.#from)
    const piece = pieceAt(this.#bytes, 0, seed)
    const isLonger = length === bytes && bytes < header.bytes && lengthAt(this.#bytes, 0) > bytes
    return piece ?? (isLonger ? this.#load({ number, header, seed }, header.bytes) : undefined)
  }

  /** Goes on to the segment that has the next row. @returns false if there is none, which is the end. */
  #goOn(upTo: number): boolean {
    const found = this.#segments()
    const after = this.#segment?.number ?? 0
    const later = found.filter(({ number }) => number > after)
    const next = this.#segment
      ? later.find(({ header }) => header.firstRow <= this.#nextRow)
      : later.findLast(({ header }) => header.firstRow <= this.#nextRow)
    if (!next) {
      this.#assertWhole(later, upTo)
      return false
    }
    this.#segment = next
    this.#at = HEADER_BYTES
    this.#bytes = Buffer.alloc(0)
    this.#from = 0
    return true
  }

  /** All segments that were begun, in order. */
  #segments(): readonly Found[] {
    const found: Found[] = []
    for (const number of listSegments(this.#folder)) {
      const bytes = readStart(segmentPath(this.#folder, number))
      const header = bytes && decodeHeader(bytes)
      // Prepared and not begun, or begun under its earlier number.
      if (!bytes || !header || header.number !== number) continue
      if (header.journalId !== this.#journalId)
        throw new JournalDamaged(`${segmentPath(this.#folder, number)} belongs to another store`)
      if (header.version > FORMAT_VERSION)
        throw new JournalDamaged(`${segmentPath(this.#folder, number)} was written by a newer gw`)
      found.push({ header, number, seed: seedOf(bytes) })
    }
    return found
  }

  /**
   * The next row is nowhere. That is the end of the journal, unless a later piece says that the row was durable when it
   * was written.
   * @throws {JournalDamaged}
   */
  #assertWhole(later: readonly Found[], upTo: number): void {
    const here = this.#segment
    const rest = [
      ...(here ? [{ ...here, from: this.#at }] : []),
      ...later.map(each => ({ ...each, from: HEADER_BYTES })),
    ]
    let lostRow = Number.isFinite(upTo) ? upTo : 0
    for (const { number, seed, header, from } of rest) {
      const bytes = Buffer.alloc(header.bytes - from)
      readInto(segmentPath(this.#folder, number), bytes, from)
      lostRow = Math.max(lostRow, durableIn(bytes, seed))
    }
    if (lostRow < this.#nextRow) return
    const place = here ? `${segmentPath(this.#folder, here.number)}, byte ${this.#at}` : this.#folder
    throw new JournalDamaged(
      `the rows ${this.#nextRow} to ${lostRow} of the journal are missing or damaged (${place})`,
    )
  }
}

/** The highest durable row that a piece reports. After damaged bytes, a piece may begin anywhere. */
function durableIn(bytes: Buffer, seed: number): number {
  let durableRow = 0
  for (let at = 0; at + PIECE_HEADER_BYTES < bytes.length; ) {
    const piece = pieceAt(bytes, at, seed)
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
