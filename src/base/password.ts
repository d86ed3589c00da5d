import { scrypt, timingSafeEqual } from 'node:crypto'
import { ApiError } from './catalogue/api.ts'
import type { Random } from './random.ts'

/** CPU and memory cost of one hash (RFC 7914 §2). */
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
 * The scrypt parameters of OWASP's "Password Storage" for this memory: 32 MiB and some 0.2 s of one core per guess. A
 * flood of log-ins would occupy all cores: so only a few run at a time, and the queues are bounded.
 */
const COST: ScryptCost = { N: 2 ** 15, r: 8, p: 3 }
const MAX_MEMORY_BYTES = 64 * 1_048_576
const SALT_BYTES = 16
const HASH_BYTES = 32
/** About the duration of a full queue. */
const RETRY_MS = 4_000
const STORED = /^scrypt\$(\d+)\$(\d+)\$(\d+)\$([\w-]+)\$([\w-]+)$/

/** An entry of a queue. */
interface Waiting {
  readonly rank: number
  readonly begin: () => void
  readonly reject: (error: ApiError) => void
}

export interface HasherOptions {
  readonly random: Random
  /** 1 or 2. */
  readonly atOnce: number
  /** The capacity of each of the two queues. */
  readonly maxWaiting: number
  /** Runs the hash function; by default in the threads of libuv. */
  readonly derive?: (derivation: Derivation) => Promise<Buffer>
  /** The cost of new hashes, and of the dummy comparison; a safe cost by default. */
  readonly cost?: ScryptCost
}

/** The priority of a log-in in the queues. */
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
  /** Log-ins from known origins, and all others: a flood of unknown ones does not delay known users. */
  readonly #known: Waiting[] = []
  readonly #others: Waiting[] = []

  constructor(options: HasherOptions) {
    this.#options = options
    this.#cost = options.cost ?? COST
  }

  /**
   * `scrypt$N$r$p$salt$hash`, the only stored form of a password.
   * @throws {ApiError} busy
   */
  async hash(password: string): Promise<string> {
    const salt = Buffer.from(this.#options.random.bytes(SALT_BYTES))
    const hash = await this.#queued(this.#known, 0, () =>
      this.#derive(password, salt, this.#cost, HASH_BYTES),
    )
    return formatHash(this.#cost, salt, hash)
  }

  /**
   * Whether the password matches the hash. Without a hash it takes the same time and returns false.
   * @param turn `isKnown` has priority over all others; among the others the smaller `rank` goes first, and replaces a
   * larger one in a full queue; `onTurn` may still throw before the work begins.
   * @throws {ApiError} busy
   */
  async verify(
    password: string,
    stored: string | undefined,
    { isKnown, rank = 0, onTurn }: HashingTurn,
  ): Promise<boolean> {
    const [, N, r, p, salt, hash] = STORED.exec(stored ?? this.#dummyHash()) ?? []
    if (salt === undefined || hash === undefined) throw new Error('a password hash of an unknown format')
    const expected = Buffer.from(hash, 'base64url')
    const cost = { N: Number(N), r: Number(r), p: Number(p) }
    const derived = await this.#queued(this.#queueOf(isKnown), rank, () => {
      onTurn?.()
      return this.#derive(password, Buffer.from(salt, 'base64url'), cost, expected.length)
    })
    return timingSafeEqual(derived, expected) && stored !== undefined
  }

  /** Throws at once if {@link verify} would. @throws {ApiError} busy */
  assertRoom({ isKnown, rank = 0 }: HashingTurn): void {
    const { atOnce, maxWaiting } = this.#options
    const queue = this.#queueOf(isKnown)
    const last = queue.at(-1)
    if (this.#running >= atOnce && queue.length >= maxWaiting && last && last.rank <= rank) throw this.#busy()
  }

  #queueOf(isKnown: boolean): Waiting[] {
    return isKnown ? this.#known : this.#others
  }

  /** Randomized, so that rejected clients do not return together. */
  #busy(): ApiError {
    const retryAfterMs = RETRY_MS * (1 + 2 * this.#options.random.fraction())
    return new ApiError('busy', undefined, { retryAfterMs })
  }

  /** The dummy hash for users who do not exist, so that the comparison takes the same time. */
  #dummyHash(): string {
    return formatHash(this.#cost, Buffer.alloc(SALT_BYTES), Buffer.alloc(HASH_BYTES))
  }

  #derive(password: string, salt: Buffer, cost: ScryptCost, lengthBytes: number): Promise<Buffer> {
    const { derive = inPool } = this.#options
    return derive({
      // Normalizes equal-looking passwords: keyboards differ in how they compose letters (RFC 8265 §4.2).
      password: password.normalize('NFC'),
      salt,
      lengthBytes,
      options: { ...cost, maxmem: MAX_MEMORY_BYTES },
    })
  }

  async #queued<T>(queue: Waiting[], rank: number, work: () => Promise<T>): Promise<T> {
    // A finished entry passes its slot to the next one: `#running` stays the same then.
    if (this.#running >= this.#options.atOnce) await this.#wait(queue, rank)
    else this.#running++
    try {
      return await work()
    } finally {
      const next = this.#known.shift() ?? this.#others.shift()
      if (next) next.begin()
      else this.#running--
    }
  }

  /** Waits in the order of ranks, then of arrival. @throws {ApiError} busy */
  #wait(queue: Waiting[], rank: number): Promise<void> {
    if (queue.length >= this.#options.maxWaiting) {
      const last = queue.at(-1)
      if (!last || last.rank <= rank) return Promise.reject(this.#busy())
      queue.pop()
      last.reject(this.#busy())
    }
    return new Promise((begin, reject) => {
      const behind = queue.findIndex(other => other.rank > rank)
      queue.splice(behind === -1 ? queue.length : behind, 0, { rank, begin, reject })
    })
  }
}

function formatHash({ N, r, p }: ScryptCost, salt: Buffer, hash: Buffer): string {
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
