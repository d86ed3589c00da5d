/**
 * What a request body must look like at the upstream, computed apart from the gateway's own scanner: the text is cut
 * into the tokens of JSON, and only what stands at the first level counts.
 */

export interface RootMember {
  readonly name: string
  readonly start: number
  readonly end: number
  /** The value's text. */
  readonly json: string
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/gsu

/** The members of the object that `text` is, in their order. Throws where it is not an object. */
export function rootMembers(text: string): { readonly behindBrace: number; readonly members: RootMember[] } {
  JSON.parse(text)
  const members: RootMember[] = []
  let depth = 0
  let behindBrace = -1
  let name: string | undefined
  let start = -1
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const end = index + token.length
    if (token === '}' || token === ']') depth--
    const atRoot = depth === 1 && token !== ':' && token !== ','
    if (behindBrace === -1) {
      if (token !== '{') throw new Error('not an object')
      behindBrace = end
    } else if (atRoot && name === undefined) name = JSON.parse(token) as string
    else if (depth === 1 && name !== undefined && token !== ':' && token !== ',') {
      if (start === -1) start = index
      if (token !== '{' && token !== '[') {
        members.push({ name, start, end, json: text.slice(start, end) })
        name = undefined
        start = -1
      }
    }
    if (token === '{' || token === '[') depth++
  }
  return { behindBrace, members }
}

/**
 * The text that the upstream must get for `text`: the served name for the model's and, on a streamed chat
 * completion whose client did not ask for usage, `include_usage` (spec/wire.md §3). Nothing else changes.
 */
export function editedBody(
  text: string,
  servedModel: string,
  path: 'chat' | 'other',
  cap?: { readonly field: string; readonly tokens: number },
): string {
  const { behindBrace, members } = rootMembers(text)
  const edits: { start: number; end: number; text: string }[] = []
  const find = (name: string) => members.find(member => member.name === name)
  const model = find('model')
  if (!model) throw new Error('no model')
  edits.push({ start: model.start, end: model.end, text: JSON.stringify(servedModel) })
  const isOpen = (name: string) => (find(name)?.json ?? 'null') === 'null'
  // A response has only this limit; the others mean nothing there.
  const limits = cap?.field === 'max_output_tokens' ? [cap.field] : ['max_tokens', 'max_completion_tokens']
  if (cap && limits.every(isOpen)) {
    const at = find(cap.field)
    if (at) edits.push({ start: at.start, end: at.end, text: String(cap.tokens) })
    else edits.push({ start: behindBrace, end: behindBrace, text: `"${cap.field}":${cap.tokens},` })
  }
  const options = find('stream_options')
  if (path === 'chat' && find('stream')?.json === 'true') {
    if (!options)
      edits.push({ start: behindBrace, end: behindBrace, text: '"stream_options":{"include_usage":true},' })
    else edits.push(...askedIn(options))
  }
  edits.sort((a, b) => b.start - a.start)
  return edits.reduce((out, edit) => out.slice(0, edit.start) + edit.text + out.slice(edit.end), text)
}

function askedIn({ start, end, json }: RootMember): { start: number; end: number; text: string }[] {
  if (json === 'null') return [{ start, end, text: '{"include_usage":true}' }]
  const inner = rootMembers(json)
  const asked = inner.members.filter(member => member.name === 'include_usage')
  if (asked.length === 0) {
    const comma = inner.members.length > 0 ? ',' : ''
    const at = start + inner.behindBrace
    return [{ start: at, end: at, text: `"include_usage":true${comma}` }]
  }
  return asked
    .filter(member => member.json === 'false' || member.json === 'null')
    .map(member => ({ start: start + member.start, end: start + member.end, text: 'true' }))
}
