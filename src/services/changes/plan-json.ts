import { formatNano } from '../../base/decimal.ts'
import { iso } from '../../base/iso.ts'
import type { Json } from '../../schema/kinds.ts'
import { isMoney } from './blast/limits.ts'
import type { BlastRadius, LoweredLimit } from './blast/types.ts'
import { inUse, verdict } from './blast/verdict.ts'
import type { FieldChange, Plan, ResourceChange } from './types.ts'

/** A plan in the format of `--format json` and REST. */
export function planToJson(plan: Plan, radius?: BlastRadius): { readonly [member: string]: Json } {
  return {
    base: plan.base,
    ...(plan.restores === undefined ? { set: plan.set } : { restores: plan.restores }),
    counts: { ...plan.counts },
    changes: changesToJson(plan.changes),
    warnings: plan.warnings.map(({ code, kind, name, message, place }) => ({
      code,
      kind,
      name,
      message,
      ...(place && { file: place.file, line: place.line }),
    })),
    unmanaged: {
      other_sets: plan.unmanaged.otherSets,
      cli: plan.unmanaged.cli,
      rest: plan.unmanaged.rest,
    },
    ...(radius && { blast_radius: radiusToJson(radius), verdict: verdict(plan, radius) }),
  }
}

/** Changes in the format of a plan and of `gw show`. */
export function changesToJson(changes: readonly ResourceChange[]): Json {
  return changes.map(({ action, kind, name, fields, adoptedFrom, renamedFrom, place }) => ({
    action,
    kind,
    name,
    fields: fields.map(fieldToJson),
    ...(adoptedFrom && { adopted_from: adoptedFrom }),
    ...(renamedFrom !== undefined && { renamed_from: renamedFrom }),
    ...(place && { file: place.file, line: place.line }),
  }))
}

/** The JSON members have the same names as the fields. */
function fieldToJson(field: FieldChange): Json {
  return { ...field }
}

/** A blast radius in the format of `--format json` and REST. Nothing is abbreviated. */
function radiusToJson(radius: BlastRadius): { readonly [member: string]: Json } {
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
    paths: radius.paths.map(({ publication, loses }) => ({ publication, loses })),
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
      last_used_at: lastUsedAtMs === undefined ? null : iso(lastUsedAtMs),
    })),
    nodes: radius.nodes.map(({ endpoint, matches, gains, loses }) => ({
      endpoint,
      matches,
      gains,
      loses: loses.map(({ node, requests }) => ({ node, last_24h: { requests } })),
    })),
    currency: radius.currency,
  }
}

/** Money is text; counts are numbers. */
function amountOf(lowered: LoweredLimit, amount: bigint): Json {
  return isMoney(lowered) ? formatNano(amount) : Number(amount)
}
