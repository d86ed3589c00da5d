import { type FileHandle, open, unlink } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { GwError } from '../base/catalogue/wire.ts'
import type { Random } from '../base/random.ts'
import type { Edit } from '../base/splice.ts'
import { type BodyFault, declaredLength, discard } from './body.ts'
import { ByteCapacity } from './byte-capacity.ts'
import { REJECTED } from './connection.ts'
import type { HttpRejection } from './rejection.ts'

/**
 * Request bodies that may be too large for memory: a short one stays in memory, a longer one goes to a temporary file,
 * from which it can be read several times.
 *
 *     request ──▶ readSpooled ──▶ Spool ──┬─ up to `memoryBytes` ─▶ blocks in memory ─┐
 *                     │                   └─ beyond it ─▶ block ─▶ temporary file ────┴─▶ read, readEdited
 *                  onPiece
 */

export interface SpoolOptions {
  /** The folder of the temporary files. */
  readonly folder: string
  readonly random: Random
  /** A longer body goes to a file. */
  readonly memoryBytes: number
  /** Limit of all files together. */
  readonly capacityBytes: number
}

/** A block is the unit of memory, of writes and of reads. */
const BLOCK_BYTES = 65_536
/** Hint for the client if a body cannot be stored. */
const RETRY_AFTER_MS = 5_000

/** The temporary files of a process. */
export class SpoolFolder {
  readonly options: SpoolOptions
  readonly #capacity: ByteCapacity

  constructor(options: SpoolOptions) {
    this.options = options
    this.#capacity = new ByteCapacity(options.capacityBytes)
  }

  /** The bytes in files now. */
  get usedBytes(): number {
    return this.#capacity.usedBytes
  }

  /** @throws {GwError} unavailable. */
  reserve(bytes: number): void {
    if (!this.#capacity.take(bytes))
      throw unavailable(`the temporary files of request bodies would be over ${this.#capacity.bytes} bytes`)
  }

  release(bytes: number): void {
    this.#capacity.release(bytes)
  }

  /**
   * Creates a file with a random name, for this user only. Its name is removed at once: the system frees it when the
   * process ends, however it ends.
   *
   * @throws {GwError} unavailable.
   */
  async create(): Promise<FileHandle> {
    const { folder, random } = this.options
    const path = join(folder, `gw-body-${Buffer.from(random.bytes(16)).toString('hex')}`)
    try {
      // Fails if the file exists, also as a link.
      const file = await open(path, 'wx+', 0o600)
      try {
        await unlink(path)
      } catch (error) {
        await file.close()
        throw error
      }
      return file
    } catch (error) {
      throw unavailable(`no temporary file in ${folder}`, error)
    }
  }
}

/** One body. The owner writes, ends, then reads as often as necessary, and closes it in any case. */
export class Spool {
  readonly #folder: SpoolFolder
  #isLong: boolean
  /** In memory: all blocks. With a file: at most the last one, which is not yet full. */
  #blocks: Buffer[] = []
  /** Bytes in the last block. */
  #filledBytes = 0
  #lengthBytes = 0
  /** Bytes in the file, and being written to it. */
  #fileBytes = 0
  #file: Promise<FileHandle> | undefined
  /** The last write to the file. */
  #writing: Promise<void> | undefined
  #isClosed = false

  /** @param expectedBytes The declared length: a long body goes to its file from the first byte on. */
  constructor(folder: SpoolFolder, expectedBytes = 0) {
    this.#folder = folder
    this.#isLong = expectedBytes > folder.options.memoryBytes
  }

  get lengthBytes(): number {
    return this.#lengthBytes
  }

  /**
   * Appends a copy of a piece.
   * @returns undefined if the next piece may be written at once, else a promise to wait for.
   * @throws {GwError} unavailable, as a rejection: the folder cannot be written, the disk or the folder's limit is full.
   */
  write(piece: Buffer): Promise<void> | undefined {
    this.#lengthBytes += piece.length
    this.#isLong ||= this.#lengthBytes > this.#folder.options.memoryBytes
    if (!this.#isLong) {
      for (let at = 0; at < piece.length; ) at = this.#fill(piece, at)
      return undefined
    }
    const hasRoom = this.#filledBytes + piece.length < BLOCK_BYTES
    if (this.#file && this.#blocks.length > 0 && hasRoom) return void this.#fill(piece, 0)
    this.#writing = this.#spill(piece)
    return this.#writing
  }

  /** To be called after the last piece, which may still be being written. @throws {GwError} see {@link write}. */
  async end(): Promise<void> {
    await this.#writing
    if (!this.#file) return
    await this.#flush(await this.#file)
    this.#blocks = []
  }

  /**
   * Reads the bytes from `from` to `to` in pieces of up to 64 KiB, which must not be changed.
   *
   * @param block A buffer of 64 KiB for the full pieces of a file, which are valid until the next piece is asked for;
   *   without it each piece is the caller's.
   * @throws {GwError} unavailable: the file cannot be read.
   */
  async *read(from = 0, to = this.#lengthBytes, block?: Buffer): AsyncGenerator<Buffer, void, undefined> {
    this.#checkOpen()
    if (this.#file) yield* this.#readFile(await this.#file, from, to, block)
    else yield* this.#readBlocks(this.#blocks, from, to)
  }

  /** Frees memory and file. More than one call is allowed, also while a write or a read is running: it fails then. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#blocks = []
    this.#folder.release(this.#fileBytes)
    const file = await this.#file?.catch(() => undefined) // `write` has reported it.
    await file?.close()
  }

  /** Copies a part of the piece into the last block. @returns where the rest begins. */
  #fill(piece: Buffer, from: number): number {
    if (this.#blocks.length === 0 || this.#filledBytes === BLOCK_BYTES) {
      this.#blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES))
      this.#filledBytes = 0
    }
    const copied = piece.copy(this.#blocks.at(-1) as Buffer, this.#filledBytes, from)
    this.#filledBytes += copied
    return from + copied
  }

  /** Moves the blocks to the file, the first time, and the piece behind them. */
  async #spill(piece: Buffer): Promise<void> {
    this.#file ??= this.#folder.create()
    const file = await this.#file
    for (let at = 0; at < piece.length; ) {
      if (this.#filledBytes === BLOCK_BYTES || this.#blocks.length > 1) await this.#flush(file)
      at = this.#fill(piece, at)
    }
  }

  /** Writes the blocks, and keeps one for what follows. */
  async #flush(file: FileHandle): Promise<void> {
    const last = this.#blocks.length - 1
    for (const [index, block] of this.#blocks.entries()) {
      await this.#append(file, index === last ? block.subarray(0, this.#filledBytes) : block)
    }
    this.#blocks.splice(1)
    this.#filledBytes = 0
  }

  async #append(file: FileHandle, block: Buffer): Promise<void> {
    this.#checkOpen()
    this.#folder.reserve(block.length)
    const start = this.#fileBytes
    this.#fileBytes += block.length
    try {
      for (let at = 0; at < block.length; ) {
        at += (await file.write(block, at, block.length - at, start + at)).bytesWritten
      }
    } catch (error) {
      throw unavailable(`a temporary file in ${this.#folder.options.folder} cannot be written`, error)
    }
  }

  async *#readFile(
    file: FileHandle,
    from: number,
    to: number,
    block: Buffer | undefined,
  ): AsyncGenerator<Buffer, void, undefined> {
    let full = block
    for (let at = from; at < to; ) {
      const isFull = to - at >= BLOCK_BYTES
      const piece = (isFull && full) || Buffer.allocUnsafeSlow(isFull ? BLOCK_BYTES : to - at)
      const bytesRead = await this.#readAt(file, piece, at)
      // A short piece may still be used when the next one is read.
      if (bytesRead < BLOCK_BYTES && piece === full) full = undefined
      at += bytesRead
      yield piece.subarray(0, bytesRead)
    }
  }

  async #readAt(file: FileHandle, piece: Buffer, at: number): Promise<number> {
    this.#checkOpen()
    const { folder } = this.#folder.options
    let bytesRead: number
    try {
      ;({ bytesRead } = await file.read(piece, 0, piece.length, at))
    } catch (error) {
      throw unavailable(`a temporary file in ${folder} cannot be read`, error)
    }
    if (bytesRead === 0) throw unavailable(`a temporary file in ${folder} is shorter than what was written`)
    return bytesRead
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Error('The spool is closed.')
  }

  /** @param blocks Those of the start: a read goes on with them if the spool is closed. */
  *#readBlocks(blocks: readonly Buffer[], from: number, to: number): Generator<Buffer, void, undefined> {
    for (let at = from; at < to; ) {
      const start = at % BLOCK_BYTES
      const piece = blocks[(at - start) / BLOCK_BYTES]?.subarray(start, start + to - at)
      if (!piece) return
      yield piece
      at += piece.length
    }
  }
}

/** Gets each piece and its offset; returns false to stop. */
type OnPiece = (piece: Buffer, offset: number) => boolean

export type SpooledBody =
  | { readonly ok: true; readonly spool: Spool }
  | { readonly ok: false; readonly fault: BodyFault }

/**
 * Reads a body into a spool, with back-pressure to the client while a file is written. `onPiece` gets each piece when it
 * arrives, and returns false to stop. The caller closes the spool of a result that is `ok`; any other is closed here.
 *
 * A declared length over the limit is rejected before a byte is read, as by `readBody`.
 *
 * @throws {GwError} unavailable: the body cannot be stored. Its rest is read and discarded.
 */
export async function readSpooled(
  req: IncomingMessage,
  folder: SpoolFolder,
  limitBytes: number,
  onPiece: OnPiece,
): Promise<SpooledBody> {
  const expectedBytes = declaredLength(req) ?? 0
  if (expectedBytes > limitBytes) return { ok: false, fault: 'too_large' }
  const spool = new Spool(folder, expectedBytes)
  try {
    const fault = await writeBody(req, spool, limitBytes, onPiece)
    if (!fault) {
      await spool.end()
      return { ok: true, spool }
    }
    await spool.close()
    return { ok: false, fault }
  } catch (error) {
    await spool.close()
    throw error
  }
}

/** Its listeners stay until the answer ends, like those of `readBody`; they do nothing after the promise is settled. */
function writeBody(
  req: IncomingMessage,
  spool: Spool,
  limitBytes: number,
  onPiece: OnPiece,
): Promise<BodyFault | undefined> {
  return new Promise((resolve, reject) => {
    let isSettled = false
    const settle = (end: () => void) => {
      if (isSettled) return
      isSettled = true
      req.off(REJECTED, onRejected)
      end()
    }
    const stop = (end: () => void) => {
      if (!isSettled) discard(req)
      req.resume()
      settle(end)
    }
    const onRejected = (rejection: HttpRejection) => settle(() => resolve(rejection))
    const resumeAfter = (piece: Buffer): void => {
      free(piece)
      req.resume()
    }
    req.on('data', (piece: Buffer) => {
      if (isSettled) return
      const offset = spool.lengthBytes
      if (offset + piece.length > limitBytes) return stop(() => resolve('too_large'))
      if (!onPiece(piece, offset)) return stop(() => resolve('unwanted'))
      const written = spool.write(piece)
      if (!written) return free(piece)
      req.pause()
      written.then(
        () => resumeAfter(piece),
        (error: unknown) => stop(() => reject(error)),
      )
    })
    // A paused request, too, emits `end` after its last piece.
    req.on('end', () => settle(() => resolve(undefined)))
    req.on('close', () => settle(() => resolve('aborted')))
    req.on(REJECTED, onRejected)
  })
}

/**
 * Frees the memory of a piece that was copied. The garbage collector does not see it as urgent: it would let some 80 MB of
 * pieces wait.
 */
function free(piece: Buffer): void {
  const { buffer } = piece
  if (buffer instanceof ArrayBuffer && buffer.byteLength === piece.length) buffer.transfer(0)
}

/**
 * The bytes of a body with `edits`, which are sorted and do not overlap, applied. A piece of 64 KiB is valid until the next
 * one is asked for. The connection asks when the socket has taken all bytes, because a piece of this size fills the socket's buffer
 * (`highWaterMark`); new memory for each piece would add up to some 80 MB that wait for the garbage collector.
 *
 * @throws {GwError} see `Spool.read`.
 */
export async function* readEdited(
  spool: Spool,
  edits: readonly Edit[],
): AsyncGenerator<Buffer, void, undefined> {
  const block = spool.lengthBytes < BLOCK_BYTES ? undefined : Buffer.allocUnsafeSlow(BLOCK_BYTES)
  let kept = 0
  for (const { start, end, bytes } of edits) {
    yield* spool.read(kept, start, block)
    if (bytes.length > 0) yield bytes
    kept = end
  }
  yield* spool.read(kept, undefined, block)
}

/** The length of {@link readEdited}, for `content-length`. */
export function editedLength(lengthBytes: number, edits: readonly Edit[]): number {
  return edits.reduce((length, { start, end, bytes }) => length - (end - start) + bytes.length, lengthBytes)
}

/** @param reason For the operator's log. */
function unavailable(reason: string, cause?: unknown): GwError {
  const detail = cause instanceof Error ? `: ${cause.message}` : ''
  return new GwError('unavailable', 'The gateway cannot store the body of this request now.', {
    reason: `${reason}${detail}`,
    retryAfterMs: RETRY_AFTER_MS,
    cause,
  })
}
