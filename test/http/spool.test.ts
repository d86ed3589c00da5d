import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { GwError } from '../../src/base/catalogue/wire.ts'
import { systemRandom } from '../../src/base/random.ts'
import { splice } from '../../src/base/splice.ts'
import { boundaryOf, MultipartScanner } from '../../src/http/multipart.ts'
import {
  editedLength,
  readEdited,
  readSpooled,
  Spool,
  type SpooledBody,
  SpoolFolder,
} from '../../src/http/spool.ts'
import { chunk } from '../gateway/calls.ts'
import { rawClient } from '../gateway/raw-client.ts'
import { tempDir } from '../support/temp-dir.ts'
import { USES } from './multipart-bodies.ts'

const dir = tempDir(afterAll)

/** A folder that shows its files to the test. */
class WatchedFolder extends SpoolFolder {
  readonly files: FileHandle[] = []

  constructor({ memoryBytes = 100_000, capacityBytes = 1e9, folder = dir.path } = {}) {
    super({ folder, random: systemRandom, memoryBytes, capacityBytes })
  }

  override async create(): Promise<FileHandle> {
    const file = await this.make()
    this.files.push(file)
    return file
  }

  protected make(): Promise<FileHandle> {
    return super.create()
  }

  /** Nothing is left: no name, no descriptor, no bytes. */
  isEmpty(): boolean {
    return (
      this.usedBytes === 0 && this.files.every(file => file.fd === -1) && readdirSync(dir.path).length === 0
    )
  }
}

class FullDisk extends WatchedFolder {
  protected override make(): Promise<FileHandle> {
    return open('/dev/full', 'r+')
  }
}

async function collect(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

/** Copies each piece before it asks for the next one, as a socket does. */
async function collectCopies(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const piece of pieces) all.push(Buffer.from(piece))
  return Buffer.concat(all)
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Bytes that differ from place to place. */
function numbered(length: number): Buffer {
  return Buffer.from(Uint32Array.from({ length: Math.ceil(length / 4) }, (_, at) => at).buffer).subarray(
    0,
    length,
  )
}

async function spooled(folder: SpoolFolder, bytes: Buffer, pieceBytes = 50_000): Promise<Spool> {
  const spool = new Spool(folder)
  onTestFinished(() => spool.close())
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = Buffer.from(bytes.subarray(at, at + pieceBytes))
    await spool.write(piece)
    piece.fill(0)
  }
  await spool.end()
  return spool
}

describe('a spool', () => {
  it('gives back any range of what was written, in memory or in a file, as often as asked', async () => {
    const anyWrites = fc.array(
      fc.oneof(fc.nat(300), fc.nat(100_000), fc.constantFrom(65_535, 65_536, 65_537)),
      {
        maxLength: 8,
      },
    )
    await fc.assert(
      fc.asyncProperty(
        anyWrites,
        fc.constantFrom(0, 1, 65_536, 100_000, 1_000_000),
        fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 3 }),
        async (lengths, memoryBytes, ranges) => {
          const folder = new WatchedFolder({ memoryBytes })
          const spool = new Spool(folder)
          const bytes = numbered(lengths.reduce((sum, length) => sum + length, 0))
          let at = 0
          for (const length of lengths) {
            await spool.write(bytes.subarray(at, at + length))
            at += length
          }
          await spool.end()
          expect(spool.lengthBytes).toBe(bytes.length)
          expect(folder.files.length > 0).toBe(bytes.length > memoryBytes)
          for (const [first, second] of [...ranges, [0, bytes.length] as const]) {
            const from = first % (bytes.length + 1)
            const to = from + (second % (bytes.length - from + 1))
            const pieces: Buffer[] = []
            for await (const piece of spool.read(from, to)) pieces.push(piece)
            expect(Buffer.concat(pieces).equals(bytes.subarray(from, to))).toBe(true)
            expect(pieces.every(({ length }) => length > 0 && length <= 65_536)).toBe(true)
          }
          await spool.close()
          expect(folder.isEmpty()).toBe(true)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('is read by several readers at once', async () => {
    const bytes = numbered(1_000_000)
    const spool = await spooled(new WatchedFolder(), bytes)
    const reads = await Promise.all([spool.read(), spool.read(1_000), spool.read(0, 999_999)].map(collect))
    expect(reads.map(read => read.length)).toEqual([1_000_000, 999_000, 999_999])
    expect(reads[0]?.equals(bytes)).toBe(true)
  })

  it('uses a file that has no name and is for this user only', async () => {
    const folder = new WatchedFolder()
    await spooled(folder, numbered(200_000))
    const { mode, nlink, size } = await folder.files[0]!.stat()
    expect([mode & 0o777, nlink, size]).toEqual([0o600, 0, 200_000])
    expect(readdirSync(dir.path)).toEqual([])
  })

  it('does not look at the folder for what fits into memory', async () => {
    const bytes = numbered(100_000)
    const spool = await spooled(new WatchedFolder({ folder: '/does/not/exist' }), bytes)
    expect((await collect(spool.read())).equals(bytes)).toBe(true)
  })

  it.each([
    [
      'no folder',
      new WatchedFolder({ folder: '/does/not/exist' }),
      /no temporary file in \/does\/not\/exist: ENOENT/,
    ],
    ['a file for a folder', new WatchedFolder({ folder: '/dev/null' }), /ENOTDIR/],
    ['a full disk', new FullDisk(), /cannot be written: ENOSPC/],
    ['too much in all files', new WatchedFolder({ capacityBytes: 150_000 }), /would be over 150000 bytes/],
  ])('says what is wrong: %s', async (_title, folder, reason) => {
    const spool = new Spool(folder)
    const error: unknown = await (async () => {
      for (let count = 0; count < 20; count++) await spool.write(Buffer.alloc(50_000))
    })().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(GwError)
    expect(error).toMatchObject({
      code: 'unavailable',
      message: 'The gateway cannot store the body of this request now.',
      reason: expect.stringMatching(reason) as string,
    })
    await spool.close()
    await spool.close()
    expect(folder.isEmpty()).toBe(true)
  })

  it('gives the room of a closed spool to the next', async () => {
    const folder = new WatchedFolder({ capacityBytes: 300_000 })
    for (let count = 0; count < 3; count++) await (await spooled(folder, numbered(250_000))).close()
    expect(folder.usedBytes).toBe(0)
  })

  it('may be closed while it is read and while it is written', async () => {
    const folder = new WatchedFolder()
    const spool = await spooled(folder, numbered(1_000_000))
    const reader = spool.read()
    await reader.next()
    const next = reader.next()
    await spool.close()
    await next
    await expect(reader.next()).rejects.toThrow('closed')
    await expect(spool.read().next()).rejects.toThrow('closed')

    const other = new Spool(folder)
    const written = expect(other.write(numbered(1_000_000))).rejects.toThrow('closed')
    await other.close()
    await written
    expect(folder.isEmpty()).toBe(true)
  })

  it('is read with edits, and the length is known before', async () => {
    const bytes = numbered(300_000)
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat(300_000), { maxLength: 6 }),
        fc.array(fc.uint8Array({ maxLength: 9 }), { minLength: 3, maxLength: 3 }),
        fc.constantFrom(0, 1_000_000),
        async (places, replacements, memoryBytes) => {
          const sorted = places.sort((a, b) => a - b)
          const edits = replacements.flatMap((replacement, index) => {
            const [start, end] = sorted.slice(2 * index, 2 * index + 2)
            return start === undefined || end === undefined
              ? []
              : [{ start, end, bytes: Buffer.from(replacement) }]
          })
          const spool = await spooled(new WatchedFolder({ memoryBytes }), bytes)
          const edited = await collectCopies(readEdited(spool, edits))
          expect(edited.equals(Buffer.concat(splice([bytes], edits)))).toBe(true)
          expect(edited.length).toBe(editedLength(spool.lengthBytes, edits))
          await spool.close()
        },
      ),
      { numRuns: 30 },
    )
  })
})

describe('a request body', () => {
  const LIMIT = 2_000_000

  interface Served {
    readonly url: string
    readonly requests: IncomingMessage[]
    readonly results: (SpooledBody | Error)[]
  }

  /** A server that spools each body, and answers with what came of it. */
  async function serve(
    folder: SpoolFolder,
    onPiece: (piece: Buffer, offset: number) => boolean = () => true,
  ): Promise<Served> {
    const results: (SpooledBody | Error)[] = []
    const requests: IncomingMessage[] = []
    const server = createServer((req, res) => {
      requests.push(req)
      void (async () => {
        const body = await readSpooled(req, folder, LIMIT, onPiece).catch((error: unknown) => error as Error)
        results.push(body)
        let hash: string | undefined
        if ('ok' in body && body.ok) {
          hash = hashOf(await collect(body.spool.read()))
          await body.spool.close()
        }
        const text = JSON.stringify({ hash, result: body instanceof GwError ? body.reason : body })
        res.writeHead(200, { 'content-length': Buffer.byteLength(text) }).end(text)
      })()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, results }
  }

  const head = (line: string) => `POST / HTTP/1.1\r\nhost: x\r\n${line}\r\n\r\n`

  it('is spooled with its length and chunked, and the connection goes on', async () => {
    const folder = new WatchedFolder()
    const scanned: Buffer[] = []
    const { url } = await serve(folder, (piece, offset) => {
      expect(offset).toBe(scanned.reduce((sum, { length }) => sum + length, 0))
      scanned.push(Buffer.from(piece))
      return true
    })
    const bytes = numbered(1_500_000)
    const client = await rawClient(onTestFinished, url)
    await client.write(head('content-length: 1500000'))
    await client.write(bytes)
    expect((await client.answer()).json()).toMatchObject({ hash: hashOf(bytes) })
    expect(Buffer.concat(scanned.splice(0)).equals(bytes)).toBe(true)
    await client.write(head('transfer-encoding: chunked'))
    for (let at = 0; at < bytes.length; at += 100_000) {
      await client.write(
        Buffer.concat([Buffer.from('186a0\r\n'), bytes.subarray(at, at + 100_000), Buffer.from('\r\n')]),
      )
    }
    await client.write('0\r\n\r\n')
    expect((await client.answer()).json()).toMatchObject({ hash: hashOf(bytes) })
    expect(folder.isEmpty()).toBe(true)
  })

  it('is whole although its end comes while it is written', async () => {
    const { url } = await serve(new WatchedFolder({ memoryBytes: 0 }))
    for (const length of [1, 1_000, 65_536, 65_537, 200_000]) {
      const client = await rawClient(onTestFinished, url)
      const bytes = numbered(length)
      await client.write(Buffer.concat([Buffer.from(head(`content-length: ${length}`)), bytes]))
      expect((await client.answer()).json()).toMatchObject({ hash: hashOf(bytes) })
    }
  })

  it('over the limit, unwanted, or without room is answered, and the rest is discarded', async () => {
    const cases = [
      [new WatchedFolder(), () => true, { result: { ok: false, fault: 'too_large' } }],
      [
        new WatchedFolder(),
        (_: Buffer, offset: number) => offset < 500_000,
        { result: { fault: 'unwanted' } },
      ],
      [new FullDisk(), () => true, { result: expect.stringContaining('ENOSPC') as string }],
    ] as const
    for (const [folder, onPiece, answer] of cases) {
      const { url } = await serve(folder, onPiece)
      const client = await rawClient(onTestFinished, url)
      await client.write(head('transfer-encoding: chunked'))
      for (let count = 0; count < 40; count++) await client.write(chunk('x'.repeat(100_000)))
      await client.write('0\r\n\r\n')
      expect((await client.answer()).json()).toMatchObject(answer)
      await client.write(`${head('content-length: 1')}x`)
      expect((await client.answer()).json()).toMatchObject({ hash: hashOf(Buffer.from('x')) })
      expect(folder.isEmpty()).toBe(true)
    }
  })

  it('that says a length over the limit is rejected before a byte', async () => {
    const { url } = await serve(new WatchedFolder())
    const client = await rawClient(onTestFinished, url)
    await client.write(head(`content-length: ${LIMIT + 1}`))
    expect((await client.answer()).json()).toMatchObject({ result: { fault: 'too_large' } })
  })

  it('of a client that leaves is freed', async () => {
    const folder = new WatchedFolder()
    const { url, results } = await serve(folder)
    const client = await rawClient(onTestFinished, url)
    await client.write(head('content-length: 1500000'))
    await client.write(numbered(700_000))
    await expect.poll(() => folder.usedBytes).toBeGreaterThan(500_000)
    client.reset()
    await expect.poll(() => results).toEqual([{ ok: false, fault: 'aborted' }])
    expect(folder.isEmpty()).toBe(true)
  })

  it('waits for the disk: the client is not read meanwhile', async () => {
    let release = (): void => undefined
    class SlowDisk extends WatchedFolder {
      protected override async make(): Promise<FileHandle> {
        await new Promise<void>(resolve => {
          release = resolve
        })
        return super.make()
      }
    }
    const { url, requests, results } = await serve(new SlowDisk())
    const client = await rawClient(onTestFinished, url)
    await client.write(head('content-length: 1900000'))
    const isWritten = client.write(numbered(1_900_000))
    await expect.poll(() => requests[0]?.isPaused()).toBe(true)
    await new Promise(resolve => setTimeout(resolve, 100))
    const [req] = requests
    expect(req?.readableLength).toBeLessThan(200_000)
    expect(req?.socket.bytesRead).toBeLessThan(500_000)
    expect(results).toEqual([])
    release()
    await isWritten
    expect((await client.answer()).json()).toMatchObject({ hash: hashOf(numbered(1_900_000)) })
  })
})

it('the whole way: a transcription is scanned while it is spooled, and sent with another model', async () => {
  const form = new FormData()
  form.append('file', new Blob([numbered(150_000)]), 'a.wav')
  form.append('model', 'public-name')
  const request = new Response(form)
  const contentType = request.headers.get('content-type') ?? ''
  const bytes = Buffer.from(await request.arrayBuffer())

  const scanner = new MultipartScanner(boundaryOf(contentType)!, USES)
  const spool = new Spool(new WatchedFolder())
  for (let at = 0; at < bytes.length; at += 10_000) {
    const piece = bytes.subarray(at, at + 10_000)
    scanner.push(piece, at)
    await spool.write(piece)
  }
  await spool.end()
  expect(scanner.end()).toBe(true)
  const model = scanner.field('model')!
  expect(model.text).toBe('public-name')

  const edits = scanner.replace(model, Buffer.from('served-model'))!
  const sent = await collectCopies(readEdited(spool, edits))
  await spool.close()
  expect(sent.length).toBe(editedLength(bytes.length, edits))
  expect(sent.toString('latin1')).toBe(bytes.toString('latin1').replace('public-name', 'served-model'))
})
