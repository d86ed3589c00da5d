import type { Gate } from './gate.ts'
import type { Answer, Exchange } from './scripted-upstream.ts'

/**
 * A part of a body: bytes that are written as one piece, or a moment to wait for before the next one.
 *
 *     ['data: {…}\n\n', gate, 'data: [DONE]\n\n']
 */
export type Piece = string | Uint8Array | Gate | Promise<unknown>

export interface Reply {
  /** Default 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>> | readonly (readonly [string, string])[]
  /** Default: no body. */
  readonly body?: readonly Piece[] | string | Uint8Array
  /**
   * How the end of the body is marked. `length` needs a body without gates; `close` ends the connection instead.
   * Default: `length` where it can, else `chunked`.
   */
  readonly framing?: 'length' | 'chunked' | 'close'
  /**
   * What comes after the last piece. `end` (the default) ends the body in good order, `reset` tears the
   * connection down, `cut` ends it without the body's end, `hang` falls silent until the client leaves.
   */
  readonly ending?: 'end' | 'reset' | 'cut' | 'hang'
}

/** An HTTP answer, well-formed up to the fault that `ending` asks for. */
export function reply(shape: Reply): Answer {
  return async exchange => {
    const pieces =
      typeof shape.body === 'string' || shape.body instanceof Uint8Array ? [shape.body] : (shape.body ?? [])
    const framing = shape.framing ?? (pieces.every(isBytes) ? 'length' : 'chunked')
    await exchange.write(head(shape, framing, pieces))
    for (const piece of pieces) {
      if (!isBytes(piece)) {
        // A client that leaves opens every gate: nothing of an answer outlives its exchange.
        await Promise.race([piece instanceof Promise ? piece : piece.opened, exchange.request.gone])
        continue
      }
      if (piece.length === 0) continue // an empty chunk would be the end
      if (!(await exchange.write(framing === 'chunked' ? chunk(piece) : piece))) return
    }
    await finish(exchange, shape.ending ?? 'end', framing)
  }
}

export function json(value: unknown, more: Omit<Reply, 'body'> = {}): Answer {
  const body = typeof value === 'string' ? value : JSON.stringify(value)
  return reply({ ...more, headers: { 'content-type': 'application/json', ...plain(more.headers) }, body })
}

/** A stream of Server-Sent Events, one chunk of the transfer encoding for each piece. */
export function sse(pieces: readonly Piece[] | string, more: Omit<Reply, 'body'> = {}): Answer {
  return reply({
    framing: 'chunked',
    ...more,
    headers: { 'content-type': 'text/event-stream; charset=utf-8', ...plain(more.headers) },
    body: pieces,
  })
}

/** Exactly these bytes, whatever they mean; then the connection ends, or falls silent. */
export function bytes(content: string | Uint8Array, ending: 'end' | 'reset' | 'hang' = 'end'): Answer {
  return async exchange => {
    await exchange.write(content)
    await finish(exchange, ending, 'close')
  }
}

/** Never a byte: waits until the client has had enough. */
export const silence: Answer = exchange => exchange.request.gone

/** Tears the connection down without a byte. */
export const reset: Answer = exchange => exchange.reset()

/** The bytes of a text, cut at the given positions (of bytes, ascending). */
export function cutAt(text: string | Uint8Array, ...positions: readonly number[]): Buffer[] {
  const whole = Buffer.from(text as string)
  return [0, ...positions].map((from, i) => whole.subarray(from, positions[i] ?? whole.length))
}

/** The bytes of a text, each a piece of its own. */
export function byteByByte(text: string | Uint8Array): Buffer[] {
  const whole = Buffer.from(text as string)
  return Array.from(whole, (_, i) => whole.subarray(i, i + 1))
}

/** One chunk of the chunked transfer encoding. */
function chunk(content: string | Uint8Array): Buffer {
  const piece = Buffer.from(content as string)
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
}

function head(shape: Reply, framing: string, pieces: readonly Piece[]): string {
  const headers = shape.headers ?? {}
  const lines = Array.isArray(headers) ? [...headers] : Object.entries(headers)
  if (framing === 'length') {
    const length = pieces.reduce((sum, piece) => sum + (isBytes(piece) ? Buffer.byteLength(piece) : 0), 0)
    lines.push(['content-length', String(length)])
  }
  if (framing === 'chunked') lines.push(['transfer-encoding', 'chunked'])
  if (framing === 'close') lines.push(['connection', 'close'])
  const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return `HTTP/1.1 ${shape.status ?? 200} Scripted\r\n${text}\r\n`
}

async function finish(
  exchange: Exchange,
  ending: NonNullable<Reply['ending']>,
  framing: string,
): Promise<void> {
  if (ending === 'reset') return exchange.reset()
  if (ending === 'cut') return exchange.end()
  if (ending === 'hang') return exchange.request.gone
  if (framing === 'chunked') await exchange.write('0\r\n\r\n')
  if (framing === 'close') exchange.end()
}

function plain(headers: Reply['headers']): Record<string, string> {
  return Object.fromEntries(Array.isArray(headers) ? headers : Object.entries(headers ?? {}))
}

function isBytes(piece: Piece): piece is string | Uint8Array {
  return typeof piece === 'string' || piece instanceof Uint8Array
}
