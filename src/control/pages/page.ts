import { createHash } from 'node:crypto'
import type { Page } from './pages.ts'

export function page(contentType: string, content: string | Buffer): Page {
  const bytes = Buffer.from(content)
  return { contentType, bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
}
