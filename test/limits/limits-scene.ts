import { GwError, type WireCode } from '../../src/base/catalogue/wire.ts'
import type { Estimate } from '../../src/limits/estimate.ts'
import { type Admission, Limiter } from '../../src/limits/limiter.ts'
import type { Reservation } from '../../src/limits/reservation.ts'
import { type KeySums, type Usage, usageOf } from '../../src/schema/ledger.ts'
import type { WrittenRate } from '../../src/schema/limits.ts'
import { rateLimits } from '../../src/snapshot/entries.ts'
import type { Budget, KeyEntry, PublicationEntry, Snapshot, TenantEntry } from '../../src/snapshot/types.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'

/** As they are written in a configuration. */
interface Limits {
  readonly rpm?: WrittenRate
  readonly tpm?: WrittenRate
  readonly concurrency?: number
}

export function tenantEntry(
  name: string,
  more: { limits?: Limits; billing?: TenantEntry['billing']; shadow?: readonly string[] } = {},
): TenantEntry {
  return {
    name,
    account: name,
    status: 'active',
    mayUse: () => true,
    isBanned: () => false,
    billing: more.billing ?? 'postpaid',
    limits: rateLimits(more.limits ?? {}),
    shadow: more.shadow && new Set(more.shadow),
  }
}

export function keyEntry(
  name: string,
  more: {
    limits?: Limits
    quotaTokens?: number
    budget?: Budget
    tenant?: TenantEntry
    shadow?: readonly string[]
  } = {},
): KeyEntry {
  return {
    name,
    account: name,
    enabled: true,
    expiresAtMs: Number.POSITIVE_INFINITY,
    mayUse: () => true,
    tenant: more.tenant,
    limits: rateLimits(more.limits ?? {}),
    quotaTokens: more.quotaTokens,
    budget: more.budget,
    shadow: more.shadow && new Set(more.shadow),
  }
}

export const MODEL: PublicationEntry = {
  name: 'gpt-4o',
  account: 'gpt-4o',
  nameJson: Buffer.from('"gpt-4o"'),
  status: 'listed',
  listing: '{}',
  targets: { openai: [], anthropic: [] },
  restricted: undefined,
  prices: [],
  requirePrice: false,
  maxOutputTokens: undefined,
  outputCap: 'none',
  onDisconnect: 'abort',
  onUpstreamError: 'charge',
}

export function snapshotOf(...keys: readonly KeyEntry[]): Snapshot {
  const tenants = keys.flatMap(({ tenant }) => (tenant ? [[tenant.name, tenant] as const] : []))
  return {
    revision: 1,
    keyVersion: 1,
    maintenance: undefined,
    declaredMaintenance: { enabled: false, message: '' },
    bodyLimitBytes: 1_024,
    corsOrigins: undefined,
    showEndpoints: true,
    currency: 'USD',
    durability: 'power',
    nodes: new Map(),
    nodeAdmission: 'declared',
    logEmbeddings: false,
    logRetentionMs: 1,
    responseRetentionMs: 1,
    revisions: { retentionMs: 1, keep: 100 },
    health: { unhealthyAfter: 3, probeMinMs: 5_000, probeMaxMs: 120_000 },
    keys: new Map(keys.map(entry => [`digest of ${entry.name}`, entry])),
    publications: new Map([[MODEL.name, MODEL]]),
    endpoints: new Map(),
    tenants: new Map(tenants),
  }
}

/** An estimate of so many tokens, all of them input unless `outputTokens` says otherwise. */
export function holding(inputTokens: number, outputTokens = 0, amountNano = 0n): Estimate {
  return {
    inputTokens,
    outputTokens,
    amountNano,
    likelyInputTokens: inputTokens,
    likelyInputNano: amountNano / 2n,
  }
}

export function used(inputTokens: number, outputTokens = 0): Usage {
  return usageOf({ inputTokens, outputTokens })
}

/** A limiter that serves some keys, of which the ledger knows nothing but balances. */
export class Scene {
  readonly clock: TestClock
  readonly limiter: Limiter
  #served = 0

  constructor(clock: TestClock = testClock()) {
    this.clock = clock
    this.limiter = new Limiter(clock)
  }

  /** What a reload does: ask, load, adopt. */
  serve(
    keys: readonly KeyEntry[],
    known: { sums?: readonly KeySums[]; balances?: [string, bigint][] } = {},
  ): void {
    const question = this.limiter.balanceQuery(snapshotOf(...keys))
    const sums = new Map(known.sums?.map(sum => [sum.key, sum]))
    question.answerSums(
      question.queries.map(
        ({ key }) => sums.get(key) ?? { key, totalTokens: 0, totalNano: 0n, windowNano: 0n },
      ),
    )
    const balances = new Map(known.balances)
    question.answerBalances(new Map(question.tenants.map(name => [name, balances.get(name) ?? 0n])))
    this.limiter.adopt(snapshotOf(...keys))
  }

  admit(key: KeyEntry, estimate: Estimate = holding(1), more: Partial<Admission> = {}): Reservation {
    this.#served++
    const requestId = `req_${this.#served}`
    return this.limiter.admit({ requestId, key, publication: MODEL, estimate, holdForMs: 60_000, ...more })
  }

  /** What an admission comes to: its reservation, or the error that a client gets. */
  try(key: KeyEntry, estimate: Estimate = holding(1)): Reservation | GwError {
    return rejectionOf(() => this.admit(key, estimate))
  }

  /** What is done every few seconds, to its end. */
  sweep(): void {
    this.limiter.sweep()
    for (const _ of this.limiter.forgetting());
  }

  /** The code of a rejection; `admitted` where there is none, with all that was taken left standing. */
  outcome(key: KeyEntry, estimate: Estimate = holding(1)): WireCode | 'admitted' {
    const result = this.try(key, estimate)
    return result instanceof GwError ? result.code : 'admitted'
  }
}

/** What `act` returns, or the {@link GwError} that it throws; anything else that it throws is a bug. */
export function rejectionOf<T>(act: () => T): T | GwError {
  try {
    return act()
  } catch (error) {
    if (error instanceof GwError) return error
    throw error
  }
}
