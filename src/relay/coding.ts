import type { Transform } from 'node:stream'
import {
  brotliDecompressSync,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  type Zlib,
  zstdDecompressSync,
} from 'node:zlib'

/**
 * Content codings of answers (RFC 9110 §8.4.1, RFC 7932, RFC 8878). The gateway asks for `identity`; some servers and
 * CDNs compress all the same.
 */
export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd'

const CODINGS: ReadonlyMap<string, Coding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd'],
])
/** Of a window of 8 MiB: more than RFC 9659 allows over HTTP is rejected. */
const ZSTD_PARAMS = { [constants.ZSTD_d_windowLogMax]: 23 }

/** How a body is encoded: `undefined` where it is plain, `unknown` where it cannot be decoded here. */
export function codingOf(headers: readonly string[]): Coding | 'unknown' | undefined {
  let found: Coding | 'unknown' | undefined
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string
    if (name.length !== NAME.length || name.toLowerCase() !== NAME) continue
    for (const part of (headers[index + 1] as string).split(',')) {
      const coding = part.trim().toLowerCase()
      if (coding === '' || coding === 'identity') continue
      found = found === undefined ? (CODINGS.get(coding) ?? 'unknown') : 'unknown'
    }
  }
  return found
}

const NAME = 'content-encoding'

/** Its `bytesWritten` says how much of the body has been decoded so far. */
export type Decoder = Transform & Pick<Zlib, 'bytesWritten'>

/** @param first The body's first byte: some servers send deflate without its zlib header. */
export function decoderFor(coding: Coding, first: number): Decoder {
  switch (coding) {
    case 'gzip':
      return createGunzip()
    case 'deflate':
      return hasZlibHeader(first) ? createInflate() : createInflateRaw()
    case 'br':
      return createBrotliDecompress()
    case 'zstd':
      return createZstdDecompress({ params: ZSTD_PARAMS })
  }
}

/** A small body, or the beginning of one, decoded at once; undefined where it is not encoded so, or becomes too long. */
export function decodedAtOnce(body: Buffer, coding: Coding, maxOutputLength: number): Buffer | undefined {
  try {
    switch (coding) {
      case 'gzip':
        return gunzipSync(body, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH })
      case 'deflate': {
        const inflate = hasZlibHeader(body[0] ?? 0) ? inflateSync : inflateRawSync
        return inflate(body, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH })
      }
      case 'br':
        return brotliDecompressSync(body, {
          maxOutputLength,
          finishFlush: constants.BROTLI_OPERATION_FLUSH,
        })
      case 'zstd':
        return zstdDecompressSync(body, {
          maxOutputLength,
          finishFlush: constants.ZSTD_e_flush,
          params: ZSTD_PARAMS,
        })
    }
  } catch {
    return undefined // it says nothing that could be read
  }
}

function hasZlibHeader(first: number): boolean {
  return (first & 0x0f) === 0x08
}
