import { randomBytes } from 'node:crypto'

/** The only source of randomness. `fraction` is for load balancing, `bytes` for ids and secrets. */
export interface Random {
  /** Uniform in [0, 1). Not for secrets. */
  fraction(): number
  /** `length` bytes from the system's cryptographic generator. */
  bytes(length: number): Uint8Array
}

export const systemRandom: Random = {
  fraction: () => Math.random(),
  bytes: length => randomBytes(length),
}

/** A call of the generator for a few bytes costs as much as for this many. */
const POOL_BYTES = 4_096

/** The same source with a pool of bytes, each used once: for a server, which needs a few at a time. */
export function pooledRandom(source: Random): Random {
  let pool: Uint8Array = new Uint8Array(0)
  return {
    fraction: () => source.fraction(),
    bytes(length) {
      if (length > POOL_BYTES) return source.bytes(length)
      if (pool.length < length) pool = source.bytes(POOL_BYTES)
      const drawn = pool.subarray(0, length)
      pool = pool.subarray(length)
      return drawn
    },
  }
}
