import type { Problem } from '../../config/types.ts'
import type { Output } from './output.ts'
import { problemToText } from './problems.ts'

/** Prints warnings of valid files on stderr. */
export function printWarnings(out: Output, warnings: readonly Problem[]): void {
  for (const warning of warnings) out.info(`${problemToText(warning, out.infoStyle)}\n`)
}
