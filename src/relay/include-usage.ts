import { JsonScanner } from '../base/json/scanner.ts'
import type { Edit } from '../base/splice.ts'

const ASK = Buffer.from('{"include_usage":true}')
const ASK_MEMBER = Buffer.from('"stream_options":{"include_usage":true},')
const TRUE = Buffer.from('true')

/** Where `stream_options` stands in a body, if it does. */
export interface StreamOptions {
  readonly start: number
  readonly end: number
  /** Its bytes. */
  readonly json: Buffer
}

/**
 * The edits that make an OpenAI-style stream end with its usage (spec/wire.md §3), or none where the client asked for it
 * itself, or sent something that only the upstream can judge.
 *
 * @param objectStart Offset behind the opening brace of the body; the body has at least one member.
 */
export function askForUsage(options: StreamOptions | undefined, objectStart: number): readonly Edit[] {
  if (!options) return [{ start: objectStart, end: objectStart, bytes: ASK_MEMBER }]
  const scanner = new JsonScanner()
  scanner.push(options.json, options.start)
  if (scanner.rootKind === 'null') return [{ start: options.start, end: options.end, bytes: ASK }]
  if (scanner.rootKind !== 'object') return []
  const asked = scanner.members.filter(member => member.name === 'include_usage')
  const unset = asked.filter(member => member.kind === 'false' || member.kind === 'null')
  // Of members that bear the same name the last one counts, for JSON.parse and for most others; all are set.
  if (asked.length > 0) return unset.map(({ start, end }) => ({ start, end, bytes: TRUE }))
  const inside = options.start + 1
  const comma = scanner.members.length > 0 ? ',' : ''
  return [{ start: inside, end: inside, bytes: Buffer.from(`"include_usage":true${comma}`) }]
}
