import { join } from 'node:path'
import process from 'node:process'

/** With GW_REPORTS a file in that folder as well, one a run: `.ci/run` adds them up. */
export function reporters(): ('default' | ['json', { readonly outputFile: string }])[] {
  const folder = process.env['GW_REPORTS']
  return folder ? ['default', ['json', { outputFile: join(folder, `${process.pid}.json`) }]] : ['default']
}
