import type { IncomingMessage } from 'node:http'

/** The error for a request that violates HTTP or a limit of the listener. */
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

/** Error codes of Node's parser that do not mean 400. */
const PARSER_REJECTIONS: Readonly<Record<string, HttpRejection>> = {
  HPE_HEADER_OVERFLOW: HEADERS,
  HPE_INVALID_TRANSFER_ENCODING: ENCODING,
  ERR_HTTP_REQUEST_TIMEOUT: TIMEOUT,
}

/** An error of Node's parser, or of a connection. */
export interface ParserError {
  readonly code?: string
  readonly reason?: string
  /** The bytes that failed to parse. */
  readonly rawPacket?: Buffer
}

/** The rejection for an error of Node's parser; undefined for a connection error, which cannot be answered. */
export function rejectionOfParser({ code, reason }: ParserError): HttpRejection | undefined {
  if (code === undefined) return undefined
  // With a length, too, the message is ambiguous; the coding is not unknown.
  if (reason?.includes('Content-Length')) return BAD_REQUEST
  if (Object.hasOwn(PARSER_REJECTIONS, code)) return PARSER_REJECTIONS[code]
  return code.startsWith('HPE_') ? BAD_REQUEST : undefined
}

/** The request target in the bytes that failed to parse, if they begin with a request line. */
export function targetIn(packet: Buffer | undefined): string | undefined {
  return /^[A-Z]{3,20} (\/[^ \r\n]*)/.exec(packet?.toString('latin1', 0, 512) ?? '')?.[1]
}

/**
 * Rejects requests that node:http accepts although RFC 9112 forbids them, or that a proxy could interpret differently:
 * versions other than 1.0 and 1.1, no or two `Host` lines, absolute or scheme-relative targets, fragments, transfer
 * codings other than `chunked`, too many headers.
 */
export function rejectionOf(req: IncomingMessage): HttpRejection | undefined {
  const lines = req.rawHeaders
  if (lines.length > 2 * MAX_HEADER_LINES) return HEADERS
  const isHttp10 = req.httpVersion === '1.0'
  if (!isHttp10 && req.httpVersion !== '1.1') return BAD_REQUEST
  const target = req.url ?? ''
  if (!target.startsWith('/') || target.startsWith('//') || target.includes('#')) return BAD_REQUEST
  const hosts = countOf(lines, 'host')
  if (hosts > 1 || (hosts === 0 && !isHttp10)) return BAD_REQUEST
  const coding = req.headers['transfer-encoding']
  if (coding !== undefined) {
    if (isHttp10) return BAD_REQUEST
    if (coding.toLowerCase() !== 'chunked') return ENCODING
  }
  const expectation = req.headers.expect
  if (expectation !== undefined && expectation.toLowerCase() !== '100-continue') return EXPECTATION
  return undefined
}

/** Counts the raw header lines (names and values alternate) with this name. @param name In lower case. */
function countOf(lines: readonly string[], name: string): number {
  let count = 0
  for (let index = 0; index < lines.length; index += 2) {
    const line = lines[index] as string
    if (line.length === name.length && line.toLowerCase() === name) count++
  }
  return count
}
