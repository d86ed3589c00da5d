import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** A prepared answer to GET and HEAD. */
export interface Page {
  readonly contentType: string
  readonly bytes: Buffer
  /** The same compressed, for clients that accept it. */
  readonly gzip?: Buffer
  /** Of the bytes, for `if-none-match`. */
  readonly etag: string
  /** Sent with the page, in place of headers of the same name. */
  readonly headers: Readonly<Record<string, string>>
}

export function page(
  contentType: string,
  content: string | Buffer,
  headers: Readonly<Record<string, string>>,
): Page {
  const bytes = Buffer.from(content)
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
  return { contentType, bytes, etag, headers }
}

/** Answers GET and HEAD with the page, or with 304. */
export function sendPage(
  req: IncomingMessage,
  res: ServerResponse,
  { contentType, bytes, gzip, etag, headers: ofPage }: Page,
  headers: Readonly<Record<string, string>>,
): void {
  const isCompressed = gzip !== undefined && acceptsGzip(req.headers['accept-encoding'])
  const own = {
    ...headers,
    // Cached, but always revalidated: after an upgrade the old pages must not be shown.
    'cache-control': 'no-cache',
    ...ofPage,
    ...(gzip && { vary: 'accept-encoding' }),
    etag: isCompressed ? `W/${etag}` : etag,
  }
  if (matchesEtag(req.headers['if-none-match'], etag)) {
    res.writeHead(304, own).end()
    return
  }
  const body = isCompressed ? gzip : bytes
  res.writeHead(200, {
    ...own,
    'content-type': contentType,
    'content-length': body.length,
    ...(isCompressed && { 'content-encoding': 'gzip' }),
  })
  res.end(req.method === 'HEAD' ? undefined : body)
}

/** RFC 9110 §12.5.3, for clients that name gzip; a weight of 0 excludes it. */
function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const codings = acceptEncoding?.split(',').map(each => each.trim().toLowerCase()) ?? []
  return codings.some(coding => /^gzip(?:\s*;\s*q=(?!0(?:\.0*)?$).*)?$/.test(coding))
}

/** RFC 9110 §13.1.2: a weak comparison, because proxies weaken the tags of compressed bodies. */
function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = ifNoneMatch?.split(',').map(each => each.trim().replace(/^W\//, '')) ?? []
  return known.includes(etag) || known.includes('*')
}
