import type { Json } from '../../schema/kinds.ts'
import { radiusToJson } from './blast/to-json.ts'
import type { BlastRadius } from './blast/types.ts'
import { verdict } from './blast/verdict.ts'
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
