import { isUtf8 } from 'node:buffer'

/** The headers of a part, as far as the gateway reads them. */
export interface PartHead {
  readonly name: string
  /** The name as parsers with other rules for escapes may read it; contains the name itself. */
  readonly readings: readonly string[]
  readonly filename: string | undefined
  /** Whether the part is a file: it has `filename` or `filename*`. */
  readonly isFile: boolean
  readonly contentType: string | undefined
  /** The digits of `content-length`: some clients send it with each part. */
  readonly length: HeaderValue | undefined
}

/** A header value without the spaces around it, and its offset in the header block. */
export interface HeaderValue {
  readonly text: string
  readonly start: number
}

/** Why a header block was rejected. */
export type HeadFault = 'header' | 'name' | 'nested' | 'encoding'

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+"
const HEADER_NAME = new RegExp(`^${TOKEN}$`)
const PARAMETER = new RegExp(`[ \\t]*;[ \\t]*(${TOKEN})=(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)")`, 'gy')
const READ = ['content-disposition', 'content-type', 'content-transfer-encoding', 'content-length'] as const
const MAX_NAME_BYTES = 256
const MAX_CONTENT_TYPE = 256
/** Encodings that change nothing. Go's mime/multipart decodes quoted-printable, Django base64. */
const IDENTITIES: readonly string[] = ['7bit', '8bit', 'binary']

/** @param bytes The header lines with the empty line that ends them; line ends are checked by the caller. */
export function readPartHead(bytes: Buffer): PartHead | HeadFault {
  const headers = headersOf(bytes.toString('latin1'))
  if (!headers) return 'header'
  const disposition = /^form-data(?=[ \t]*(?:;|$))/i.exec(headers['content-disposition']?.text ?? '')
  if (!disposition) return headers['content-disposition'] ? 'header' : 'name'
  const parameters = parametersOf(disposition.input.slice('form-data'.length))
  if (!parameters) return 'header'
  const raw = parameters.get('name')
  // `name*` and its continuations are another name to parsers that know RFC 2231.
  if (!raw || raw.length > MAX_NAME_BYTES || !isUtf8(Buffer.from(raw, 'latin1'))) return 'name'
  for (const parameter of parameters.keys()) if (parameter.startsWith('name*')) return 'name'
  const contentType = headers['content-type']
  if (contentType && /^multipart\//i.test(contentType.text)) return 'nested'
  const encoding = headers['content-transfer-encoding']
  if (encoding && !IDENTITIES.includes(encoding.text.toLowerCase())) return 'encoding'
  const name = decoded(raw)
  const filename = parameters.get('filename')
  return {
    name: unescaped(name),
    readings: readingsOf(name),
    filename: filename === undefined ? undefined : unescaped(decoded(filename)),
    isFile: [...parameters.keys()].some(parameter => /^filename(?:\*|$)/.test(parameter)),
    contentType: contentType && decoded(contentType.text.slice(0, MAX_CONTENT_TYPE)),
    length: headers['content-length'],
  }
}

/**
 * Reads `; name=value` pairs (RFC 9110 §5.6.6). Names are in lower case; values are as sent, without the quotes.
 * @returns undefined if the text has another form, a name twice, or a value that ends elsewhere for a parser which takes
 *   a backslash for itself, as browsers mean it.
 */
export function parametersOf(text: string): ReadonlyMap<string, string> | undefined {
  const parameters = new Map<string, string>()
  let end = 0
  for (const [pair, name = '', token, quoted] of text.matchAll(PARAMETER)) {
    const key = name.toLowerCase()
    if (parameters.has(key) || (quoted !== undefined && /\\"[ \t]*;/.test(quoted))) return undefined
    parameters.set(key, token ?? quoted ?? '')
    end += pair.length
  }
  return end === text.length ? parameters : undefined
}

/** The headers that the gateway reads; undefined if a line is malformed or one of them is given twice. */
function headersOf(text: string): Partial<Record<(typeof READ)[number], HeaderValue>> | undefined {
  const headers: Partial<Record<(typeof READ)[number], HeaderValue>> = {}
  let start = 0
  for (const line of text.split('\r\n')) {
    // The empty line ends the block.
    if (line === '') break
    const colon = line.indexOf(':')
    if (colon < 0 || !HEADER_NAME.test(line.slice(0, colon))) return undefined
    const name = line.slice(0, colon).toLowerCase()
    const read = READ.find(each => each === name)
    if (read && headers[read]) return undefined
    if (read) headers[read] = trimmed(line, colon + 1, start)
    start += line.length + 2
  }
  return headers
}

/** The value from `from` to the end of a line that stands at `lineStart`. */
function trimmed(line: string, from: number, lineStart: number): HeaderValue {
  let first = from
  let end = line.length
  while (first < end && isSpace(line[first])) first++
  while (end > first && isSpace(line[end - 1])) end--
  return { text: line.slice(first, end), start: lineStart + first }
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}

/** A copy, since a slice would keep the whole header block in memory. Old clients send file names in Latin-1. */
function decoded(latin1: string): string {
  const bytes = Buffer.from(latin1, 'latin1')
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1')
}

/** Resolves the escapes that clients use: `\"` and `\\`, and those of browsers (RFC 7578 §2). */
function unescaped(raw: string): string {
  return raw
    .replace(/\\(["\\])/g, '$1')
    .replace(/%(22|0D|0A)/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function readingsOf(raw: string): readonly string[] {
  if (!/[\\%]/.test(raw)) return [raw]
  const unquoted = raw.replace(/\\(.)/gs, '$1')
  return [raw, unescaped(raw), unquoted, percentDecoded(raw), percentDecoded(unquoted)]
}

function percentDecoded(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
