import { createHash } from 'node:crypto'

/** A prepared response body. */
export interface Page {
  readonly contentType: string
  readonly bytes: Buffer
  /** Of the bytes, for `if-none-match`. */
  readonly etag: string
}

export function page(contentType: string, content: string | Buffer): Page {
  const bytes = Buffer.from(content)
  return { contentType, bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
}
