import type { IncomingMessage } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'
import type { JsonKind } from '../base/json/grammar.ts'
import { type JsonMember, JsonScanner } from '../base/json/scanner.ts'
import { Utf8Check } from '../base/json/utf8.ts'
import { extract } from '../base/splice.ts'
import { readBody } from '../http/body.ts'

/** An inference request's body: its bytes, and the few fields that the gateway reads from them. */
export interface Call {
  /** The body as it came; emptied once it need not be sent again. */
  readonly pieces: Buffer[]
  readonly lengthBytes: number
  /** Offset behind the opening brace. */
  readonly objectStart: number
  readonly model: string
  readonly modelAt: Span
  readonly stream: boolean
  readonly streamOptionsAt: Span | undefined
  /** Where `messages` stands, if it is an array. */
  readonly messagesAt: JsonMember | undefined
  readonly maxTokens: number | undefined
  readonly maxCompletionTokens: number | undefined
  /** Where these two stand, if they do, also as null. */
  readonly maxTokensAt: Span | undefined
  readonly maxCompletionTokensAt: Span | undefined
  /** How many answers were asked for. */
  readonly n: number | undefined
}

export interface Span {
  readonly start: number
  readonly end: number
}

/** The longest model name that there can be (spec/resources.md §2), in bytes of JSON with every character escaped. */
const MAX_MODEL_BYTES = 3_100

/** More fields than this at the root are no request; remembering millions of them would cost gigabytes. */
const MAX_FIELDS = 1_024
/** No longer name folds into one of those that are read. */
const MAX_FOLDED_LENGTH = 64
/** Names that fold into themselves. */
const FOLDED = /^[a-z0-9_]*$/
const FEW_FIELDS = 24

/** Answers to one request that can be held for (spec/money.md §1). */
const MAX_ANSWERS = 128

type CountField = 'max_tokens' | 'max_completion_tokens' | 'n'
type ReadField = 'messages' | 'model' | 'stream' | 'stream_options' | CountField

/** The fields that decide something here, and the kinds of value that they may have. */
const READ_FIELDS: Readonly<Record<ReadField, readonly JsonKind[]>> = {
  // Weighed where it is an array; what else it may be is its upstream's to judge.
  messages: ['array', 'object', 'string', 'number', 'true', 'false', 'null'],
  model: ['string'],
  stream: ['true', 'false', 'null'],
  stream_options: ['object', 'null'],
  max_tokens: ['number', 'null'],
  max_completion_tokens: ['number', 'null'],
  n: ['number', 'null'],
}

/**
 * Reads a body and checks of it what the gateway must be sure of: what it decides by must be what the upstream
 * reads. So a field that it reads may not come twice, escaped, or in another letter case (spec/security.md §2).
 *
 * @returns undefined where the client left.
 * @throws {GwError} unsupported_encoding, request_too_large, invalid_json, invalid_model, invalid_parameter, and what
 *   is wrong with how the body came: bad_request, request_timeout, header_too_large.
 */
export async function readCall(req: IncomingMessage, limitBytes: number): Promise<Call | undefined> {
  const coding = req.headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity') throw new GwError('unsupported_encoding')
  const scanner = new JsonScanner()
  const utf8 = new Utf8Check()
  let offset = 0
  const body = await readBody(req, limitBytes, piece => {
    const sound = utf8.push(piece) && scanner.push(piece, offset) && scanner.members.length <= MAX_FIELDS
    offset += piece.length
    return sound
  })
  if (!body.ok) {
    if (body.fault === 'aborted') return undefined
    if (body.fault === 'unwanted') throw notJson(scanner)
    if (body.fault !== 'too_large') {
      throw new GwError(body.fault.code, undefined, { headers: { connection: 'close' } })
    }
    throw new GwError('request_too_large', `The body is larger than ${limitBytes} bytes.`)
  }
  if (!scanner.done || !utf8.end() || scanner.rootKind !== 'object') throw notJson(scanner)
  return toCall(body.pieces, body.lengthBytes, scanner)
}

function notJson(scanner: JsonScanner): GwError {
  if (scanner.fault === 'too_deep')
    return new GwError('invalid_json', 'The body is nested more than 128 levels deep.')
  if (scanner.members.length > MAX_FIELDS)
    return new GwError('invalid_json', `The body has more than ${MAX_FIELDS} fields.`)
  return new GwError('invalid_json', 'The body is not a JSON object in UTF-8.')
}

function toCall(pieces: Buffer[], lengthBytes: number, { members, rootStart }: JsonScanner): Call {
  const fields = uniqueFields(members)
  const { model, messages } = fields
  if (!model) throw new GwError('invalid_model', '`model` is missing.')
  const name = model.end - model.start > MAX_MODEL_BYTES ? '' : unquoted(text(pieces, model))
  if (name === '')
    throw new GwError('invalid_model', '`model` must be a non-empty string of at most 256 characters.')
  const count = (field: CountField, max: number): number | undefined => {
    const member = fields[field]
    return member?.kind === 'number' ? readCount(field, text(pieces, member), max) : undefined
  }
  return {
    pieces,
    lengthBytes,
    objectStart: rootStart + 1,
    model: name,
    modelAt: model,
    stream: fields.stream?.kind === 'true',
    streamOptionsAt: fields.stream_options,
    messagesAt: messages?.kind === 'array' ? messages : undefined,
    maxTokens: count('max_tokens', Number.MAX_SAFE_INTEGER),
    maxCompletionTokens: count('max_completion_tokens', Number.MAX_SAFE_INTEGER),
    maxTokensAt: fields.max_tokens,
    maxCompletionTokensAt: fields.max_completion_tokens,
    n: count('n', MAX_ANSWERS),
  }
}

/** The members that the gateway reads, where they are. */
type Fields = { [name in ReadField]?: JsonMember }

/** The root's members that the gateway reads, each of which may come only once. */
function uniqueFields(members: readonly JsonMember[]): Fields {
  const fields: Fields = {}
  // Most bodies have a handful: looking at each of them costs less than a set.
  const names = members.length > FEW_FIELDS ? new Set<string>() : undefined
  for (const [at, member] of members.entries()) {
    const { name } = member
    if (names ? names.has(name) : isBefore(members, at, name))
      throw invalid(name, `\`${shown(name)}\` is given twice.`)
    names?.add(name)
    if (isRead(name)) {
      const kinds = READ_FIELDS[name]
      if (!kinds.includes(member.kind)) throw invalid(name, `\`${name}\` must be ${kinds.join(' or ')}.`)
      fields[name] = member
      continue
    }
    // Some upstreams match names in any letter case (Go's encoding/json, with Unicode's folding of ſ and K).
    if (name.length > MAX_FOLDED_LENGTH || FOLDED.test(name)) continue
    const folded = name.normalize('NFKC').toLowerCase()
    if (isRead(folded)) throw invalid(folded, `\`${shown(name)}\` must be written \`${folded}\`.`)
  }
  return fields
}

/** What a string of JSON says. */
function unquoted(json: string): string {
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1)
}

function isBefore(members: readonly JsonMember[], end: number, name: string): boolean {
  for (let at = 0; at < end; at++) if (members[at]?.name === name) return true
  return false
}

function isRead(name: string): name is ReadField {
  return Object.hasOwn(READ_FIELDS, name)
}

function readCount(field: string, json: string, max: number): number {
  const value = Number(json)
  if (Number.isSafeInteger(value) && value >= 0 && value <= max) return value
  const range = max === Number.MAX_SAFE_INTEGER ? '0 or more' : `0 to ${max}`
  throw invalid(field, `\`${field}\` must be a whole number, ${range}.`)
}

function invalid(field: string, message: string): GwError {
  if (field === 'model') return new GwError('invalid_model', message)
  return new GwError('invalid_parameter', message, { param: shown(field) })
}

/** A name from a request, cut to what fits a message. */
function shown(name: string): string {
  return name.length <= 64 ? name : `${name.slice(0, 64)}…`
}

function text(pieces: readonly Buffer[], { start, end }: Span): string {
  return extract(pieces, start, end).toString()
}
