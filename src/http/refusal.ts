import type { IncomingMessage } from 'node:http'

/** A request that node:http accepted, or nearly, and that must not go further. */
export interface HttpRefusal {
  readonly code: 'bad_request' | 'request_timeout' | 'header_too_large' | 'unsupported_transfer_encoding'
  readonly status: number
  readonly phrase: string
}

const BAD_REQUEST: HttpRefusal = { code: 'bad_request', status: 400, phrase: 'Bad Request' }
const TIMEOUT: HttpRefusal = { code: 'request_timeout', status: 408, phrase: 'Request Timeout' }
const HEADERS: HttpRefusal = {
  code: 'header_too_large',
  status: 431,
  phrase: 'Request Header Fields Too Large',
}
const ENCODING: HttpRefusal = {
  code: 'unsupported_transfer_encoding',
  status: 501,
  phrase: 'Not Implemented',
}

const MAX_HEADER_LINES = 128

/** What to answer to an error of node's parser; undefined where nobody is there to read it. */
export function refusalOfParser(code: string | undefined): HttpRefusal | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') return HEADERS
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return TIMEOUT
  return code?.startsWith('HPE_') ? BAD_REQUEST : undefined
}

/**
 * What bare node:http lets through although RFC 9112 forbids it, or a proxy in front would read it otherwise: other
 * versions than 1.0 and 1.1, no or two `Host` lines, absolute or scheme-relative targets, transfer codings other
 * than `chunked`, floods of headers.
 */
export function refusalOf(req: IncomingMessage): HttpRefusal | undefined {
  const lines = req.rawHeaders
  if (lines.length > 2 * MAX_HEADER_LINES) return HEADERS
  const oldest = req.httpVersion === '1.0'
  if (!oldest && req.httpVersion !== '1.1') return BAD_REQUEST
  const target = req.url ?? ''
  if (!target.startsWith('/') || target.startsWith('//')) return BAD_REQUEST
  const hosts = countOf(lines, 'host')
  if (hosts > 1 || (hosts === 0 && !oldest)) return BAD_REQUEST
  const coding = req.headers['transfer-encoding']
  if (coding !== undefined) {
    if (oldest) return BAD_REQUEST
    if (coding.toLowerCase() !== 'chunked') return ENCODING
  }
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
