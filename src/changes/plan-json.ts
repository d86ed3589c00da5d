import type { Json } from '../schema/kinds.ts'
import { radiusToJson } from './blast/to-json.ts'
import type { BlastRadius } from './blast/types.ts'
import { verdict } from './blast/verdict.ts'
import type { FieldChange, Plan } from './types.ts'

/** A plan as `--format json` and REST show it. */
export function planToJson(plan: Plan, radius?: BlastRadius): { readonly [member: string]: Json } {
  return {
    base: plan.base,
    set: plan.set,
    counts: { ...plan.counts },
    changes: plan.changes.map(({ action, kind, name, fields, adoptedFrom, place }) => ({
      action,
      kind,
      name,
      fields: fields.map(fieldToJson),
      ...(adoptedFrom && { adopted_from: adoptedFrom }),
      ...(place && { file: place.file, line: place.line }),
    })),
    warnings: plan.warnings.map(({ code, kind, name, message }) => ({ code, kind, name, message })),
    left_alone: {
      other_sets: plan.leftAlone.otherSets,
      cli: plan.leftAlone.cli,
      rest: plan.leftAlone.rest,
    },
    ...(radius && { blast_radius: radiusToJson(radius), verdict: verdict(plan, radius) }),
  }
}

/** The members have the same names outside as inside. */
function fieldToJson(field: FieldChange): Json {
  return { ...field }
}
