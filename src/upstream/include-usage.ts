import { JsonScanner } from '../base/json/scanner.ts'
import type { Edit } from '../base/splice.ts'

const OPTIONS = Buffer.from('{"include_usage":true}')
const OPTIONS_MEMBER = Buffer.from('"stream_options":{"include_usage":true},')
const TRUE = Buffer.from('true')

/** Position and bytes of `stream_options` in a body. */
export interface StreamOptions {
  readonly start: number
  readonly end: number
  readonly json: Buffer
}

/**
 * The edits that make an OpenAI-style stream end with its usage (spec/wire.md §3). None if the client requested usage
 * itself, or sent a value that the upstream must validate.
 *
 * @param objectStart Offset after the opening brace of the body; the body has at least one member.
 */
export function askForUsage(options: StreamOptions | undefined, objectStart: number): readonly Edit[] {
  if (!options) return [{ start: objectStart, end: objectStart, bytes: OPTIONS_MEMBER }]
  const scanner = new JsonScanner()
  scanner.push(options.json, options.start)
  if (scanner.rootKind === 'null') return [{ start: options.start, end: options.end, bytes: OPTIONS }]
  if (scanner.rootKind !== 'object') return []
  const present = scanner.members.filter(member => member.name === 'include_usage')
  const unset = present.filter(member => member.kind === 'false' || member.kind === 'null')
  // Of duplicate members the last one counts in JSON.parse and most other parsers; all are set.
  if (present.length > 0) return unset.map(({ start, end }) => ({ start, end, bytes: TRUE }))
  const inside = options.start + 1
  const comma = scanner.members.length > 0 ? ',' : ''
  return [{ start: inside, end: inside, bytes: Buffer.from(`"include_usage":true${comma}`) }]
}
