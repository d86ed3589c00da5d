import { createHash } from 'node:crypto'

/** What one path answers, ready to be sent. */
export interface Page {
  readonly contentType: string
  readonly bytes: Buffer
  /** Of the bytes, so that a browser that has them is told so. */
  readonly etag: string
}

export function page(contentType: string, content: string | Buffer): Page {
  const bytes = Buffer.from(content)
  return { contentType, bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
}
