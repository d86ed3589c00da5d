import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

/**
 * The requests in `recorded/`: what well-known clients put on the wire, byte for byte. Each file holds those of one
 * client, in the form that editors know as `.http`; what stands above the first title says where they are from.
 *
 *     ### chat, streamed
 *     POST /v1/chat/completions HTTP/1.1
 *     Host: {{host}}
 *     Authorization: Bearer {{key}}
 *     Content-Length: 133
 *
 *     {"messages":[…],"model":"gpt-4o","stream":true}
 *
 * A body is the one line behind the empty one. Lines of a head end in CRLF on the wire.
 */
export interface RecordedCall {
  /** The file, such as `openai-python-2`. */
  readonly client: string
  readonly title: string
  /** Such as `/v1/messages?beta=true`. */
  readonly target: string
  /** Name and value of each header line, with `{{host}}` and `{{key}}` in place. */
  readonly headerLines: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

const RECORDED = new URL('recorded/', import.meta.url)

const TITLE = /^### (.+)\n/m
const REQUEST = /^POST (\S+) HTTP\/1\.1\n((?:[^\n]+\n)+)\n([^\n]+)\n*$/

export function recordedCalls(): RecordedCall[] {
  const files = readdirSync(RECORDED).filter(name => name.endsWith('.http'))
  return files.sort().flatMap(readRecording)
}

function readRecording(file: string): RecordedCall[] {
  const [, ...parts] = readFileSync(new URL(file, RECORDED), 'utf8').split(TITLE)
  const calls: RecordedCall[] = []
  for (let at = 0; at < parts.length; at += 2) {
    const title = parts[at] ?? ''
    const [, target, head, body] = REQUEST.exec(parts[at + 1] ?? '') ?? []
    if (!target || !head || !body) throw new Error(`${file}: "${title}" is not a request`)
    const headerLines = head
      .trimEnd()
      .split('\n')
      .map(line => {
        const colon = line.indexOf(': ')
        return [line.slice(0, colon), line.slice(colon + 2)] as const
      })
    calls.push({ client: file.replace(/\.http$/, ''), title, target, headerLines, body })
  }
  return calls
}

/** Writes the calls of one client in place of those that its file has; what stands above them is kept. */
export function writeRecording(client: string, calls: readonly RecordedCall[]): void {
  const file = new URL(`${client}.http`, RECORDED)
  const [preamble = ''] = readFileSync(file, 'utf8').split(TITLE, 1)
  const requests = calls.map(({ title, target, headerLines, body }) => {
    const lines = headerLines.map(([name, value]) => `${name}: ${value}\n`)
    return `### ${title}\nPOST ${target} HTTP/1.1\n${lines.join('')}\n${body}\n`
  })
  writeFileSync(file, preamble + requests.join('\n'))
}
