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
 * Content codings of answers (RFC 9110 §8.4.1, RFC 7932, RFC 8878). The gateway requests `identity`, but some servers and
 * CDNs compress anyway.
 */
export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd'

const CODINGS: ReadonlyMap<string, Coding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd'],
])
/** A window of 8 MiB: RFC 9659 allows no larger one over HTTP. */
const ZSTD_PARAMS = { [constants.ZSTD_d_windowLogMax]: 23 }

/** The encoding of a body: `undefined` if plain, `unknown` if it cannot be decoded. */
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

/** `bytesWritten` is the number of encoded bytes decoded so far. */
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

/** Decodes a small body, or the beginning of one, synchronously; undefined if it is invalid or becomes too long. */
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
    return undefined // invalid or too long
  }
}

function hasZlibHeader(first: number): boolean {
  return (first & 0x0f) === 0x08
}
