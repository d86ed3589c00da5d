import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { WhenOver } from '../support/when-over.ts'

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number
  /** Name and value of each header line, in order and letter case. */
  readonly headerLines: readonly (readonly [string, string])[]
  /** The body as far as it came, chunk framing taken off. */
  readonly body: Buffer
  /** The body came to its end, as its framing tells it. */
  readonly whole: boolean
  /** Every value of a header, in any letter case. */
  values(name: string): string[]
  text(): string
  json(): unknown
}

/** A client of which the test owns each byte, and the pace at which it reads. */
export interface RawClient {
  readonly socket: Socket
  /** Resolves when the kernel has taken the bytes. */
  write(bytes: string | Uint8Array): Promise<void>
  /** The next answer, whole or cut by the end of the connection. */
  answer(): Promise<RawAnswer>
  /** Resolves as soon as what has come of the next answer fits; rejects where the connection ends before. */
  until(fits: (answer: RawAnswer) => boolean): Promise<RawAnswer>
  /** Resolves when the server has closed its side or the connection is gone. */
  readonly closed: Promise<void>
  /** Leaves at once, with a reset. */
  reset(): void
}

export async function rawClient(whenOver: WhenOver, url: string): Promise<RawClient> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  let bytes: Buffer = Buffer.alloc(0)
  let over = false
  const watchers = new Set<() => void>()
  const changed = (): void => {
    for (const watcher of watchers) watcher()
  }
  const closed = new Promise<void>(resolve => {
    const end = (): void => {
      over = true
      changed()
      resolve()
    }
    socket.on('end', end).on('close', end)
  })
  socket.on('error', () => undefined) // a reset is one way for a connection to end; `close` follows
  socket.on('data', piece => {
    bytes = Buffer.concat([bytes, piece])
    changed()
  })
  whenOver(() => void socket.destroy())
  const when = (fits: (parsed: Parsed) => boolean): Promise<RawAnswer> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const parsed = parse(bytes, over)
        if (parsed && fits(parsed)) {
          watchers.delete(look)
          if (parsed.answer.whole) bytes = bytes.subarray(parsed.length)
          resolve(parsed.answer)
        } else if (over) {
          watchers.delete(look)
          reject(
            new Error(`the connection ended before the answer: ${bytes.toString('latin1').slice(0, 200)}`),
          )
        }
      }
      watchers.add(look)
      look()
    })
  return {
    socket,
    write: piece => new Promise(resolve => void socket.write(piece, () => resolve())),
    answer: () => when(({ answer, over: ended }) => answer.whole || ended),
    until: fits => when(({ answer }) => fits(answer)),
    closed,
    reset: () => void socket.resetAndDestroy(),
  }
}

interface Parsed {
  readonly answer: RawAnswer
  /** How many bytes it took. */
  readonly length: number
  readonly over: boolean
}

function parse(bytes: Buffer, over: boolean): Parsed | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const [start = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const status = Number(start.split(' ')[1])
  const rest = bytes.subarray(headEnd + 4)
  if (status === 100) return parse(rest, over)
  const headerLines = lines.map(line => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const
  })
  const values = (name: string): string[] =>
    headerLines.filter(([line]) => line.toLowerCase() === name.toLowerCase()).map(([, value]) => value)
  const { body, length, whole } = readBody(rest, values, over)
  const answer = {
    status,
    headerLines,
    body,
    whole,
    values,
    text: () => body.toString(),
    json: () => JSON.parse(body.toString()) as unknown,
  }
  return { answer, length: headEnd + 4 + length, over }
}

function readBody(
  rest: Buffer,
  values: (name: string) => string[],
  over: boolean,
): { body: Buffer; length: number; whole: boolean } {
  if (values('transfer-encoding')[0] === 'chunked') return readChunks(rest)
  const declared = values('content-length')[0]
  if (declared === undefined) return { body: rest, length: rest.length, whole: over }
  const length = Math.min(Number(declared), rest.length)
  return { body: rest.subarray(0, length), length, whole: length === Number(declared) }
}

function readChunks(rest: Buffer): { body: Buffer; length: number; whole: boolean } {
  const pieces: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = rest.indexOf('\r\n', at)
    const size = lineEnd === -1 ? Number.NaN : Number.parseInt(rest.toString('latin1', at, lineEnd), 16)
    const from = lineEnd + 2
    if (size === 0 && rest.length >= from + 2)
      return { body: Buffer.concat(pieces), length: from + 2, whole: true }
    if (Number.isNaN(size) || size === 0 || rest.length < from + size + 2) {
      if (size > 0) pieces.push(rest.subarray(from, from + size))
      return { body: Buffer.concat(pieces), length: rest.length, whole: false }
    }
    pieces.push(rest.subarray(from, from + size))
    at = from + size + 2
  }
}
