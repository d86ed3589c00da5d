import { readFileSync } from 'node:fs'

/** The version in package.json. */
export function gwVersion(): string {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(file) as { version: string }).version
}
