import { crc32 } from 'node:zlib'

/**
 * The files of a journal. A journal is a list of segments, files of a fixed size that were filled with zeros before
 * they were used:
 *
 *     segment   header │ piece │ piece │ … │ zeros, or pieces of an earlier use of the file
 *     header    magic 8 │ version 4 │ size 4 │ journal id 16 │ segment number 6 │ first row 6 │ first segment 6 │ zeros 10 │ checksum 4
 *     piece     checksum 4 │ length 4 │ first row 6 │ durable row 6 │ rows 4 │ bytes of the rows
 *
 * All numbers are little-endian. Rows are numbered from 1 on over the life of a store, so that no row is read twice.
 * A piece is what was written at once. Its checksum begins with the checksum of its segment's header, so that a piece
 * of an earlier use of the file never fits. The first piece that does not fit ends a segment. `durable row` is the last
 * row that was durable when the piece was written: it tells a tail that a power cut tore from one that was damaged
 * afterwards.
 */

/** 2 added rows of the call log with a node. */
export const FORMAT_VERSION = 2
const MAGIC = Buffer.from('gwledger')
export const HEADER_BYTES = 64
export const PIECE_HEADER_BYTES = 24
const JOURNAL_ID_BYTES = 16
/** A longer piece is never written. */
const MAX_PIECE_BYTES = 1_048_576
const HEADER_CRC_AT = HEADER_BYTES - 4

export interface SegmentHeader {
  readonly version: number
  /** The size of the file. */
  readonly bytes: number
  /** Hexadecimal; that of the store, so that a journal is not read into another store. */
  readonly journalId: string
  /** Counts from 1; one more for each segment, also when its file was used before. */
  readonly number: number
  /** The number of its first row. After a fault, earlier segments may have it as well. */
  readonly firstRow: number
  /** The number of the first segment of the process that wrote this one. */
  readonly firstSegment: number
}

export interface PieceHeader {
  /** Length of the bytes of its rows. */
  readonly length: number
  readonly firstRow: number
  readonly rows: number
  /** The last row that was durable when the piece was written; 0 before the first. */
  readonly durableRow: number
}

/** The bytes of a header. Its checksum is the seed for the segment's pieces: see {@link seedOf}. */
export function encodeHeader({ bytes, journalId, number, firstRow, firstSegment }: SegmentHeader): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  MAGIC.copy(header)
  header.writeUInt32LE(FORMAT_VERSION, 8)
  header.writeUInt32LE(bytes, 12)
  header.write(journalId, 16, JOURNAL_ID_BYTES, 'hex')
  header.writeUIntLE(number, 32, 6)
  header.writeUIntLE(firstRow, 38, 6)
  header.writeUIntLE(firstSegment, 44, 6)
  header.writeUInt32LE(crc32(header.subarray(0, HEADER_CRC_AT)), HEADER_CRC_AT)
  return header
}

/** Undefined if the bytes are no header, or one whose writing was interrupted. */
export function decodeHeader(header: Buffer): SegmentHeader | undefined {
  if (header.length < HEADER_BYTES || !header.subarray(0, MAGIC.length).equals(MAGIC)) return undefined
  if (header.readUInt32LE(HEADER_CRC_AT) !== crc32(header.subarray(0, HEADER_CRC_AT))) return undefined
  return {
    version: header.readUInt32LE(8),
    bytes: header.readUInt32LE(12),
    journalId: header.toString('hex', 16, 16 + JOURNAL_ID_BYTES),
    number: header.readUIntLE(32, 6),
    firstRow: header.readUIntLE(38, 6),
    firstSegment: header.readUIntLE(44, 6),
  }
}

/** Where the checksums of a segment's pieces begin. */
export function seedOf(header: Buffer): number {
  return header.readUInt32LE(HEADER_CRC_AT)
}

/** Fills the first bytes of `piece`, which its rows follow. */
export function sealPiece(
  piece: Buffer,
  seed: number,
  { firstRow, rows, durableRow }: Omit<PieceHeader, 'length'>,
): void {
  piece.writeUInt32LE(piece.length - PIECE_HEADER_BYTES, 4)
  piece.writeUIntLE(firstRow, 8, 6)
  piece.writeUIntLE(durableRow, 14, 6)
  piece.writeUInt32LE(rows, 20)
  piece.writeUInt32LE(crc32(piece.subarray(4), seed), 0)
}

/** The length that a piece at an offset would have; 0: there is none. Unchecked. */
export function lengthAt(bytes: Buffer, at: number): number {
  if (at + PIECE_HEADER_BYTES > bytes.length) return 0
  const length = bytes.readUInt32LE(at + 4)
  return length === 0 ? 0 : PIECE_HEADER_BYTES + length
}

/** The header of the piece at an offset; undefined if none fits there. */
export function pieceAt(bytes: Buffer, at: number, seed: number): PieceHeader | undefined {
  const length = lengthAt(bytes, at)
  const end = at + length
  if (length === 0 || length > MAX_PIECE_BYTES || end > bytes.length) return undefined
  if (crc32(bytes.subarray(at + 4, end), seed) !== bytes.readUInt32LE(at)) return undefined
  return {
    length: length - PIECE_HEADER_BYTES,
    firstRow: bytes.readUIntLE(at + 8, 6),
    durableRow: bytes.readUIntLE(at + 14, 6),
    rows: bytes.readUInt32LE(at + 20),
  }
}

/** Whether the bytes at an offset look like a piece, before their checksum is calculated. */
export function mayBePiece(bytes: Buffer, at: number, firstRow: number): boolean {
  const length = lengthAt(bytes, at)
  if (length === 0 || length > MAX_PIECE_BYTES || at + length > bytes.length) return false
  const row = bytes.readUIntLE(at + 8, 6)
  const rows = bytes.readUInt32LE(at + 20)
  return row >= firstRow && bytes.readUIntLE(at + 14, 6) < row && rows >= 1 && rows < length
}
