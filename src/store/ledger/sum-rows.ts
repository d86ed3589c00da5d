import type Database from 'better-sqlite3'
import { parts } from './columns.ts'
import * as sql from './statements.ts'
import type { BatchSums } from './sums.ts'
import { addUsageTo, DAY_QUARTERS, sumValues, usageValues } from './usage-sums.ts'

/** Adds the sums of a batch to those of the store. */
export class SumRows {
  readonly #quarter: Database.Statement
  readonly #day: Database.Statement
  readonly #keyDay: Database.Statement
  readonly #modelDay: Database.Statement
  readonly #key: Database.Statement
  readonly #wallet: Database.Statement

  constructor(raw: Database.Database) {
    this.#quarter = raw.prepare(addUsageTo('usage_quarters'))
    this.#day = raw.prepare(
      addUsageTo('usage_days', ['key_name', 'day', 'tenant', 'publication', 'endpoint']),
    )
    this.#keyDay = raw.prepare(addUsageTo('usage_key_days', ['key_name', 'day', 'tenant']))
    this.#modelDay = raw.prepare(addUsageTo('usage_model_days', ['day', 'tenant', 'publication', 'endpoint']))
    this.#key = raw.prepare(sql.ADD_TO_KEY)
    this.#wallet = raw.prepare(sql.ADD_TO_WALLET)
  }

  add(sums: BatchSums): void {
    for (const sum of sums.quarters.values()) {
      const [key, quarter, ...others] = usageValues(sum)
      this.#quarter.run(key, quarter, ...others)
      this.#day.run(key, Math.floor(sum.quarter / DAY_QUARTERS), ...others)
    }
    for (const { place, sums: day } of sums.keyDays()) this.#keyDay.run(...place, ...sumValues(day))
    for (const { place, sums: day } of sums.modelDays()) this.#modelDay.run(...place, ...sumValues(day))
    for (const [key, { tokens, amountNano }] of sums.keys) {
      this.#key.run(key, tokens, ...parts(amountNano))
    }
    for (const [tenant, amountNano] of sums.spent) this.#wallet.run(tenant, ...parts(-amountNano))
  }
}
