import type { IncomingMessage } from 'node:http'

/** A request that node:http accepted, or nearly, and that must not go further. */
export interface HttpRejection {
  readonly code:
    | 'bad_request'
    | 'request_timeout'
    | 'header_too_large'
    | 'unsupported_transfer_encoding'
    | 'unmet_expectation'
    | 'too_many_connections'
  readonly status: number
  readonly phrase: string
}

export const BAD_REQUEST: HttpRejection = { code: 'bad_request', status: 400, phrase: 'Bad Request' }
export const TIMEOUT: HttpRejection = { code: 'request_timeout', status: 408, phrase: 'Request Timeout' }
export const TOO_MANY_CONNECTIONS: HttpRejection = {
  code: 'too_many_connections',
  status: 503,
  phrase: 'Service Unavailable',
}
const EXPECTATION: HttpRejection = { code: 'unmet_expectation', status: 417, phrase: 'Expectation Failed' }
const HEADERS: HttpRejection = {
  code: 'header_too_large',
  status: 431,
  phrase: 'Request Header Fields Too Large',
}
const ENCODING: HttpRejection = {
  code: 'unsupported_transfer_encoding',
  status: 501,
  phrase: 'Not Implemented',
}

const MAX_HEADER_LINES = 128

/** What node's parser calls a fault that is more than bad bytes. */
const PARSER_FAULTS: Readonly<Record<string, HttpRejection>> = {
  HPE_HEADER_OVERFLOW: HEADERS,
  HPE_INVALID_TRANSFER_ENCODING: ENCODING,
  ERR_HTTP_REQUEST_TIMEOUT: TIMEOUT,
}

/** An error of node's parser, or of a connection. */
export interface ParserError {
  readonly code?: string
  readonly reason?: string
  /** What was being parsed when it failed. */
  readonly rawPacket?: Buffer
}

/** What to answer to an error of node's parser; undefined where nobody is there to read it. */
export function rejectionOfParser({ code, reason }: ParserError): HttpRejection | undefined {
  if (code === undefined) return undefined
  // Beside a length it is the message that is ambiguous, not the coding that is unknown.
  if (reason?.includes('Content-Length')) return BAD_REQUEST
  if (Object.hasOwn(PARSER_FAULTS, code)) return PARSER_FAULTS[code]
  return code.startsWith('HPE_') ? BAD_REQUEST : undefined
}

/** The target of a request line at the start of what the parser choked on, as far as it can be told. */
export function targetIn(packet: Buffer | undefined): string | undefined {
  return /^[A-Z]{3,20} (\/[^ \r\n]*)/.exec(packet?.toString('latin1', 0, 512) ?? '')?.[1]
}

/**
 * What bare node:http lets through although RFC 9112 forbids it, or a proxy in front would read it otherwise: other
 * versions than 1.0 and 1.1, no or two `Host` lines, absolute or scheme-relative targets, fragments, transfer codings
 * other than `chunked`, floods of headers.
 */
export function rejectionOf(req: IncomingMessage): HttpRejection | undefined {
  const lines = req.rawHeaders
  if (lines.length > 2 * MAX_HEADER_LINES) return HEADERS
  const oldest = req.httpVersion === '1.0'
  if (!oldest && req.httpVersion !== '1.1') return BAD_REQUEST
  const target = req.url ?? ''
  if (!target.startsWith('/') || target.startsWith('//') || target.includes('#')) return BAD_REQUEST
  const hosts = countOf(lines, 'host')
  if (hosts > 1 || (hosts === 0 && !oldest)) return BAD_REQUEST
  const coding = req.headers['transfer-encoding']
  if (coding !== undefined) {
    if (oldest) return BAD_REQUEST
    if (coding.toLowerCase() !== 'chunked') return ENCODING
  }
  const expectation = req.headers.expect
  if (expectation !== undefined && expectation.toLowerCase() !== '100-continue') return EXPECTATION
  return undefined
}

/** How many lines of the raw headers (names and values in turn) bear `name`, given in lower case. */
function countOf(lines: readonly string[], name: string): number {
  let count = 0
  for (let index = 0; index < lines.length; index += 2) {
    const line = lines[index] as string
    if (line.length === name.length && line.toLowerCase() === name) count++
  }
  return count
}
