import { type FieldUses, MultipartScanner } from '../../src/http/multipart.ts'

export const BOUNDARY = 'b0undary'
export const USES: FieldUses = { model: 'text', n: 'text', stream: 'text', prompt: 'length' }

export interface GivenPart {
  readonly name: string
  readonly content: string | Buffer
  /** As written between the quotes. */
  readonly filename?: string
  /** More header lines. */
  readonly lines?: readonly string[]
}

/** A body and where each part's content stands in it. */
export interface GivenBody {
  readonly bytes: Buffer
  readonly contents: readonly { readonly name: string; readonly start: number; readonly end: number }[]
}

/** Writes a body as RFC 7578 has it, and notes where it writes what. */
export function bodyOf(
  given: readonly GivenPart[],
  { boundary = BOUNDARY, preamble = '', epilogue = '\r\n' } = {},
): GivenBody {
  const pieces: Buffer[] = []
  let length = 0
  const add = (piece: string | Buffer) => {
    const bytes = Buffer.from(piece)
    pieces.push(bytes)
    length += bytes.length
  }
  if (preamble !== '') add(`${preamble}\r\n`)
  const contents = given.map(({ name, content, filename, lines = [] }) => {
    const disposition = `form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}`
    add(`--${boundary}\r\n${[`Content-Disposition: ${disposition}`, ...lines].join('\r\n')}\r\n\r\n`)
    const start = length
    add(content)
    const end = length
    add('\r\n')
    return { name, start, end }
  })
  add(`--${boundary}--${epilogue}`)
  return { bytes: Buffer.concat(pieces), contents }
}

/** Scans `bytes` in pieces that end at `cuts`; each piece is overwritten after its turn. */
export function scan(
  bytes: Buffer,
  { boundary = BOUNDARY, uses = USES, cuts = [] as readonly number[] } = {},
): MultipartScanner {
  const scanner = new MultipartScanner(boundary, uses)
  let from = 0
  for (const to of [...cuts, bytes.length].sort((a, b) => a - b)) {
    const piece = Buffer.from(bytes.subarray(from, to))
    if (!scanner.push(piece, from)) break
    piece.fill(0x2d)
    from = to
  }
  scanner.end()
  return scanner
}

/** The code of the fault of a body that is given as text. */
export function faultOf(text: string, uses = USES): string | undefined {
  return scan(Buffer.from(text, 'latin1'), { uses }).fault?.code
}
