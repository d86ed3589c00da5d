/** Initial cap; most answers are shorter. */
const FIRST_CAP_TOKENS = 1_024
const PERCENTILE = 0.95
/** Each answer weighs this much more than the previous one, so that about fifty of them matter. */
const GROWTH = 1 / 0.98
/** Limit at which weights are scaled down: the maximum of a single-precision float is 3.4e38. */
const MAX_WEIGHT = 1e30
/** Two steps for each doubling: the cap is at most 41 % above the percentile. */
const STEPS = 64

/** The lengths of the answers of one key and model: a decaying histogram over powers of √2. */
export class OutputEstimator {
  readonly #weights = new Float32Array(STEPS)
  #weight = 1
  #total = 1
  #capTokens = FIRST_CAP_TOKENS

  constructor() {
    this.#weights[stepOf(FIRST_CAP_TOKENS)] = 1
  }

  /** Output tokens that 95 % of the latest answers did not exceed. */
  get capTokens(): number {
    return this.#capTokens
  }

  observe(outputTokens: number): void {
    if (this.#weight > MAX_WEIGHT) this.#scaleDown()
    this.#weight *= GROWTH
    const step = stepOf(outputTokens)
    this.#weights[step] = (this.#weights[step] ?? 0) + this.#weight
    this.#total += this.#weight
    this.#capTokens = this.#percentile()
  }

  #percentile(): number {
    let above = this.#total * (1 - PERCENTILE)
    for (let step = STEPS - 1; step > 0; step--) {
      above -= this.#weights[step] ?? 0
      if (above < 0) return ceilingOf(step)
    }
    return ceilingOf(0)
  }

  #scaleDown(): void {
    for (let step = 0; step < STEPS; step++) this.#weights[step] = (this.#weights[step] ?? 0) / MAX_WEIGHT
    this.#weight /= MAX_WEIGHT
    this.#total /= MAX_WEIGHT
  }
}

/**
 * An LRU cache of the estimators of each key and model. Their caps reduce the output part of TPM reservations, never of
 * money or of a quota (spec/money.md §1).
 */
export class OutputEstimators {
  readonly #maxEntries: number
  readonly #entries = new Map<string, OutputEstimator>()

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  of(key: string, publication: string): OutputEstimator {
    // Neither name contains a space.
    const name = `${key} ${publication}`
    let outputEstimator = this.#entries.get(name)
    // Below half of the limit no eviction is near: skip the reordering, which would cost each request.
    if (outputEstimator && this.#entries.size <= this.#maxEntries / 2) return outputEstimator
    if (outputEstimator) this.#entries.delete(name)
    else outputEstimator = new OutputEstimator()
    this.#entries.set(name, outputEstimator)
    if (this.#entries.size > this.#maxEntries) {
      for (const oldest of this.#entries.keys()) {
        this.#entries.delete(oldest)
        break
      }
    }
    return outputEstimator
  }

  /** The cap of an estimator, without marking it as used. */
  capOf(key: string, publication: string): number {
    return this.#entries.get(`${key} ${publication}`)?.capTokens ?? FIRST_CAP_TOKENS
  }

  get size(): number {
    return this.#entries.size
  }
}

/** The step of a count: each extends up to and including its {@link ceilingOf}. */
function stepOf(tokens: number): number {
  if (tokens <= 1) return 0
  const step = Math.ceil(2 * Math.log2(tokens) - 1e-9)
  return Math.min(step, STEPS - 1)
}

function ceilingOf(step: number): number {
  return Math.ceil(2 ** (step / 2))
}
