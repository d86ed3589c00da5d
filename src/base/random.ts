import { randomBytes } from 'node:crypto'

/** The only source of chance. `fraction` serves load balancing, `bytes` serves ids and secrets. */
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

/** One call into the generator costs as much for a few bytes as for this many. */
const POOL_BYTES = 4_096

/** The same chance, its bytes drawn from a pool, each of them once: for a server, which draws a few at a time. */
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
