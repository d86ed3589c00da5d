import type { Problem } from '../config/types.ts'
import type { Output } from './output.ts'
import { problemToText } from './problems.ts'

/** Warnings of files that are valid: talk, wherever they were not asked for. */
export function printWarnings(out: Output, warnings: readonly Problem[]): void {
  for (const warning of warnings) out.info(`${problemToText(warning, out.infoStyle)}\n`)
}
