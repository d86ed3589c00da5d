import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'

/** The source of a scrape; implemented in `metering`. */
export interface MetricsPort {
  /** SHA-256 of the metrics token. */
  readonly tokenDigest: Buffer
  readonly scrape: () => Promise<{ readonly contentType: string; readonly pieces: readonly Buffer[] }>
}

const CREDENTIAL = /^bearer +(\S+) *$/i
const MESSAGE = 'Incorrect metrics token provided.'

/**
 * `GET /metrics`: requires the metrics token. Keys of the configuration are not accepted.
 *
 * @throws {GwError} invalid_api_key
 */
export async function answerScrape(
  req: IncomingMessage,
  res: ServerResponse,
  { tokenDigest, scrape }: MetricsPort,
): Promise<void> {
  const token = tokenOf(req.rawHeaders)
  if (token === undefined || !timingSafeEqual(digestOf(token), tokenDigest)) {
    const headers = { 'www-authenticate': 'Bearer realm="metrics"' }
    throw new GwError('invalid_api_key', MESSAGE, { reason: 'not the metrics token', headers })
  }
  const { contentType, pieces } = await scrape()
  res.writeHead(200, {
    'content-type': contentType,
    'content-length': pieces.reduce((sum, piece) => sum + piece.length, 0),
    'cache-control': 'no-store',
  })
  if (req.method !== 'HEAD') for (const piece of pieces) res.write(piece)
  res.end()
}

export function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** The token of the `authorization` line; undefined if there are two lines, because readers could choose differently. */
function tokenOf(headers: readonly string[]): string | undefined {
  let found: string | undefined
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() !== 'authorization') continue
    if (found !== undefined) return undefined
    found = headers[index + 1] ?? ''
  }
  return CREDENTIAL.exec(found ?? '')?.[1]
}
