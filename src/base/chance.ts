import { randomBytes } from 'node:crypto'

/** The only source of chance. `fraction` serves load balancing, `bytes` serves ids and secrets. */
export interface Chance {
  /** Uniform in [0, 1). Not for secrets. */
  fraction(): number
  /** `length` bytes from the system's cryptographic generator. */
  bytes(length: number): Uint8Array
}

export const systemChance: Chance = {
  fraction: () => Math.random(),
  bytes: length => randomBytes(length),
}
