import { scrypt, timingSafeEqual } from 'node:crypto'
import { ApiError } from './catalogue/api.ts'
import type { Random } from './random.ts'

/** Work and memory of one hash (RFC 7914 §2). */
interface ScryptCost {
  readonly N: number
  readonly r: number
  readonly p: number
}

/** One run of scrypt, as plain data. */
export interface Derivation {
  readonly password: string
  readonly salt: Uint8Array
  readonly lengthBytes: number
  readonly options: ScryptCost & { readonly maxmem: number }
}

/**
 * scrypt as OWASP's "Password Storage" has it for this memory: 32 MiB and some 0.2 s of one core for each guess. A flood
 * of log-ins would take every core that it can get: so only a few run at a time, and no more than some wait.
 */
const COST: ScryptCost = { N: 2 ** 15, r: 8, p: 3 }
const MAX_MEMORY_BYTES = 64 * 1_048_576
const SALT_BYTES = 16
const HASH_BYTES = 32
/** About as long as a full line takes. */
const RETRY_MS = 4_000
const STORED = /^scrypt\$(\d+)\$(\d+)\$(\d+)\$([\w-]+)\$([\w-]+)$/

/** Somebody in a line. */
interface Waiting {
  readonly rank: number
  readonly begin: () => void
  readonly giveUp: (error: ApiError) => void
}

export interface HasherOptions {
  readonly random: Random
  /** 1 or 2. */
  readonly atOnce: number
  /** In each of the two lines. */
  readonly maxWaiting: number
  /** Where hashing is done; by default in the threads of libuv. */
  readonly derive?: (derivation: Derivation) => Promise<Buffer>
  /** Of new hashes, and of the comparison with nothing; by default as dear as it should be. */
  readonly cost?: ScryptCost
}

/** Who goes when, where many wait. */
export interface HashingTurn {
  readonly isKnown: boolean
  /** 0 by default. */
  readonly rank?: number
  readonly onTurn?: () => void
}

/** Hashes passwords, a few at a time. */
export class PasswordHasher {
  readonly #options: HasherOptions
  readonly #cost: ScryptCost
  #running = 0
  /** Those who have logged in from where they are before, and everybody else: a flood of strangers waits by itself. */
  readonly #known: Waiting[] = []
  readonly #others: Waiting[] = []

  constructor(options: HasherOptions) {
    this.#options = options
    this.#cost = options.cost ?? COST
  }

  /**
   * `scrypt$N$r$p$salt$hash`, all that is ever stored of a password.
   * @throws {ApiError} busy
   */
  async hash(password: string): Promise<string> {
    const salt = Buffer.from(this.#options.random.bytes(SALT_BYTES))
    const hash = await this.#queued(this.#known, 0, () =>
      this.#derive(password, salt, this.#cost, HASH_BYTES),
    )
    return written(this.#cost, salt, hash)
  }

  /**
   * Whether the password is the one that was hashed. Without a hash it takes as long, and is never.
   *
   * @param turn `isKnown` goes before those who are not; of those who are not the smaller `rank` goes first, and takes the
   *   place of a larger one where the line is full; `onTurn` may still throw when the work is about to begin.
   * @throws {ApiError} busy
   */
  async verify(
    password: string,
    stored: string | undefined,
    { isKnown, rank = 0, onTurn }: HashingTurn,
  ): Promise<boolean> {
    const [, N, r, p, salt, hash] = STORED.exec(stored ?? this.#none()) ?? []
    if (salt === undefined || hash === undefined) throw new Error('a password hash of an unknown form')
    const expected = Buffer.from(hash, 'base64url')
    const cost = { N: Number(N), r: Number(r), p: Number(p) }
    const derived = await this.#queued(this.#lineOf(isKnown), rank, () => {
      onTurn?.()
      return this.#derive(password, Buffer.from(salt, 'base64url'), cost, expected.length)
    })
    return timingSafeEqual(derived, expected) && stored !== undefined
  }

  /** Rejects at once what {@link verify} would reject. @throws {ApiError} busy */
  assertRoom({ isKnown, rank = 0 }: HashingTurn): void {
    const { atOnce, maxWaiting } = this.#options
    const line = this.#lineOf(isKnown)
    const last = line.at(-1)
    if (this.#running >= atOnce && line.length >= maxWaiting && last && last.rank <= rank) throw this.#busy()
  }

  #lineOf(isKnown: boolean): Waiting[] {
    return isKnown ? this.#known : this.#others
  }

  /** By chance, so that those who are sent away do not come back together. */
  #busy(): ApiError {
    const retryAfterMs = RETRY_MS * (1 + 2 * this.#options.random.fraction())
    return new ApiError('busy', undefined, { retryAfterMs })
  }

  /** What the password of a user who does not exist is compared with, so that it takes as long. */
  #none(): string {
    return written(this.#cost, Buffer.alloc(SALT_BYTES), Buffer.alloc(HASH_BYTES))
  }

  #derive(password: string, salt: Buffer, cost: ScryptCost, lengthBytes: number): Promise<Buffer> {
    const { derive = inPool } = this.#options
    return derive({
      // One spelling of what looks the same: keyboards differ in how they compose letters (RFC 8265 §4.2).
      password: password.normalize('NFC'),
      salt,
      lengthBytes,
      options: { ...cost, maxmem: MAX_MEMORY_BYTES },
    })
  }

  async #queued<T>(line: Waiting[], rank: number, work: () => Promise<T>): Promise<T> {
    // Whoever ends hands its place over: `#running` stays as it is then.
    if (this.#running >= this.#options.atOnce) await this.#wait(line, rank)
    else this.#running++
    try {
      return await work()
    } finally {
      const next = this.#known.shift() ?? this.#others.shift()
      if (next) next.begin()
      else this.#running--
    }
  }

  /** In the order of ranks, and of those alike as they came. @throws {ApiError} busy */
  #wait(line: Waiting[], rank: number): Promise<void> {
    if (line.length >= this.#options.maxWaiting) {
      const last = line.at(-1)
      if (!last || last.rank <= rank) return Promise.reject(this.#busy())
      line.pop()
      last.giveUp(this.#busy())
    }
    return new Promise((begin, giveUp) => {
      const behind = line.findIndex(other => other.rank > rank)
      line.splice(behind === -1 ? line.length : behind, 0, { rank, begin, giveUp })
    })
  }
}

function written({ N, r, p }: ScryptCost, salt: Buffer, hash: Buffer): string {
  return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

function inPool({ password, salt, lengthBytes, options }: Derivation): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, lengthBytes, options, (error, derived) => {
      if (error) reject(error)
      else resolve(derived)
    })
  })
}
