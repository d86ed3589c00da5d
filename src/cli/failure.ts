import type { CommandError } from '../base/catalogue/command.ts'
import type { Json } from '../schema/kinds.ts'
import { ConflictError, ProbeError } from '../services/changes/rejections.ts'
import { ConfigurationInvalid } from '../services/invalid.ts'
import { LedgerBroken } from '../services/ledger.ts'
import type { SourceLine } from '../store/types.ts'
import type { Format } from './format.ts'
import { checkedToJson, findingsToJson, findingsToText } from './output/ledger-text.ts'
import { problemsToJson, problemsToText } from './output/problems.ts'
import type { Style } from './output/style.ts'

/** Details of an error beyond its message, which names conflicts and probes already. */
export function detailsText(error: CommandError, format: Format, style: Style): string {
  if (error instanceof ConfigurationInvalid) return problemsToText(error.problems, format, style)
  return error instanceof LedgerBroken ? findingsToText(error.findings, style) : ''
}

/** The same as members of `error`, beside its code, message and hint. */
export function detailsJson(error: CommandError): { readonly [member: string]: Json } {
  if (error instanceof ConfigurationInvalid) return { problems: problemsToJson(error.problems) }
  if (error instanceof LedgerBroken) {
    return { checked: checkedToJson(error.checked), findings: findingsToJson(error.findings) }
  }
  if (error instanceof ConflictError) {
    return {
      conflicts: error.conflicts.map(({ kind, name, message, place, other }) => ({
        kind,
        name,
        message,
        ...(place && lineJson(place)),
        ...(other && { other: lineJson(other) }),
      })),
    }
  }
  if (error instanceof ProbeError) {
    return {
      failures: error.failures.map(({ endpoint, model, cause, hint }) => ({ endpoint, model, cause, hint })),
    }
  }
  return {}
}

function lineJson({ file, line }: SourceLine): { readonly file: string; readonly line: number } {
  return { file, line }
}
