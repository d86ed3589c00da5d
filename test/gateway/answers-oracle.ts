import { type RootMember, rootMembers } from './edits-oracle.ts'

/**
 * What a client must see of an answer, computed apart from the gateway's own scanner and event splitter: the external
 * name for the model's and, where the client did not ask for usage and the gateway did, no usage that was only for it.
 */

export interface Naming {
  /** The name that the client asked for. */
  readonly name: string
  /** The gateway asked for usage and the client did not. */
  readonly hidesUsage: boolean
}

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** A whole answer: of its root only the model's name changes. */
export function editedAnswer(text: string, { name }: Naming): string {
  return applied(text, namings(rootMembers(text).members, name))
}

/** A stream of chunks of a chat completion. */
export function editedChatStream(text: string, naming: Naming): string {
  return editedEvents(text, json => {
    const { members } = rootMembers(json)
    const edits = namings(members, naming.name)
    const at = members.findIndex(member => member.name === 'usage')
    const usage = members[at]
    if (!naming.hidesUsage || usage === undefined) return edits
    const choices = members.find(member => member.name === 'choices')
    const isUsageOnly = isObject(usage) && choices !== undefined && /^\[\s*\]$/.test(choices.json)
    if (isUsageOnly) return 'dropped'
    return usage.json === 'null' ? [...edits, without(members, at, json)] : edits
  })
}

/** A stream of events of a message, or of a response: the name stands in the event and in its `container`. */
export function editedEventStream(text: string, { name }: Naming, container: 'message' | 'response'): string {
  return editedEvents(text, json => {
    const { members } = rootMembers(json)
    const inside = members
      .filter(member => member.name === container && isObject(member))
      .flatMap(message =>
        namings(rootMembers(message.json).members, name).map(edit => ({
          ...edit,
          start: edit.start + message.start,
          end: edit.end + message.start,
        })),
      )
    return [...namings(members, name), ...inside]
  })
}

/** Up to its empty line; a line feed behind a carriage return is no line end of its own. */
const EVENT = /[^]*?(?:\r\n|\r(?!\n)|(?<!\r)\n)(?:\r\n|\r(?!\n)|(?<!\r)\n)|[^]+$/g

/** Every event of a text, with the edits that `editsOf` finds for the JSON in its data lines. */
function editedEvents(text: string, editsOf: (json: string) => readonly Edit[] | 'dropped'): string {
  let out = ''
  for (const event of text.match(EVENT) ?? []) {
    const { data, offsets } = dataOf(event)
    if (data === '' || data === '[DONE]') {
      out += event
      continue
    }
    const edits = editsOf(data)
    if (edits === 'dropped') continue
    const placed = edits.map(({ start, end, text: replacement }) => ({
      start: offsets[start] ?? -1,
      end: (data[end - 1] === '\n' ? offsets[end] : (offsets[end - 1] ?? -2) + 1) ?? -1,
      text: replacement,
    }))
    out += applied(event, placed)
  }
  return out
}

/** The data of an event, its lines joined, and for each character where it stands in the event. */
function dataOf(event: string): { readonly data: string; readonly offsets: readonly number[] } {
  let data = ''
  let lineEnd = -1
  const offsets: number[] = []
  for (const { 0: line, index } of event.matchAll(/[^\r\n]+/g)) {
    const [, before = '', value] = /^(\uFEFF?data: ?)(.*)$/su.exec(line) ?? []
    if (value === undefined) continue
    if (lineEnd !== -1) {
      data += '\n'
      offsets.push(lineEnd)
    }
    lineEnd = index + line.length
    for (let at = 0; at < value.length; at++) offsets.push(index + before.length + at)
    data += value
  }
  return { data, offsets }
}

function namings(members: readonly RootMember[], name: string): Edit[] {
  return members
    .filter(member => member.name === 'model' && member.json.startsWith('"'))
    .map(({ start, end }) => ({ start, end, text: JSON.stringify(name) }))
}

/** Takes a member out with the comma that parts it from the one before it, or else from the one behind. */
function without(members: readonly RootMember[], at: number, json: string): Edit {
  const before = members[at - 1]
  const member = members[at] as RootMember
  if (before) return { start: before.end, end: member.end, text: '' }
  const nameStart = json.indexOf('"')
  const after = members[at + 1]
  if (!after) return { start: nameStart, end: member.end, text: '' }
  const comma = json.indexOf(',', member.end)
  return { start: nameStart, end: json.indexOf('"', comma), text: '' }
}

function isObject({ json }: RootMember): boolean {
  return json.startsWith('{')
}

function applied(text: string, edits: readonly Edit[]): string {
  const backwards = [...edits].sort((a, b) => b.start - a.start)
  return backwards.reduce((out, edit) => out.slice(0, edit.start) + edit.text + out.slice(edit.end), text)
}
