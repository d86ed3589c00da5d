import { formatNano } from '../../../base/decimal.ts'
import type { Json } from '../../../schema/kinds.ts'
import type { BlastRadius, LoweredLimit } from './types.ts'
import { inUse } from './verdict.ts'

/** A blast radius in the format of `--format json` and REST. Nothing is abbreviated. */
export function radiusToJson(radius: BlastRadius): { readonly [member: string]: Json } {
  return {
    breaks_keys: radius.brokenKeys,
    in_use_goes_away: inUse(radius).length,
    access: radius.access.map(({ keys, loses, gains, losesAll }) => ({
      keys,
      loses,
      gains,
      loses_all: losesAll,
    })),
    unserved: radius.unserved,
    prices: radius.prices.map(({ publication, part, beforeNano, afterNano, percent }) => ({
      publication,
      part,
      before: beforeNano === undefined ? null : formatNano(beforeNano),
      after: afterNano === undefined ? null : formatNano(afterNano),
      ...(percent !== undefined && { percent }),
    })),
    limits: radius.limits.map(limit => ({
      kind: limit.kind,
      name: limit.name,
      limit: limit.limit,
      before: limit.before === undefined ? null : amountOf(limit, limit.before),
      after: amountOf(limit, limit.after),
      used: amountOf(limit, limit.used),
    })),
    goes_away: radius.endings.map(({ kind, name, how, day, lastUsedAtMs }) => ({
      kind,
      name,
      how,
      last_24h: { requests: day.requests, tokens: day.tokens, cost: formatNano(day.amountNano) },
      last_used_at: lastUsedAtMs === undefined ? null : new Date(lastUsedAtMs).toISOString(),
    })),
    currency: radius.currency,
  }
}

/** Money is text; counts are numbers. */
function amountOf({ limit }: LoweredLimit, amount: bigint): Json {
  return limit === 'budget' ? formatNano(amount) : Number(amount)
}
