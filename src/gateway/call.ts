import type { IncomingMessage } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'
import type { JsonKind } from '../base/json/grammar.ts'
import { type JsonMember, JsonScanner } from '../base/json/scanner.ts'
import { Utf8Check } from '../base/json/utf8.ts'
import { extract } from '../base/splice.ts'
import { readBody } from '../http/body.ts'

/** An inference request's body: its bytes, and the few fields that the gateway reads from them. */
export interface Call {
  /** The body as received; emptied once it cannot be sent again. */
  readonly pieces: Buffer[]
  readonly lengthBytes: number
  /** Offset after the opening brace. */
  readonly objectStart: number
  readonly model: string
  readonly modelAt: Span
  readonly stream: boolean
  readonly streamOptionsAt: Span | undefined
  /** Position of `messages`, if it is an array. */
  readonly messagesAt: JsonMember | undefined
  readonly maxTokens: number | undefined
  readonly maxCompletionTokens: number | undefined
  /** Positions of these two fields, if present, also if null. */
  readonly maxTokensAt: Span | undefined
  readonly maxCompletionTokensAt: Span | undefined
  /** Number of requested answers. */
  readonly n: number | undefined
}

export interface Span {
  readonly start: number
  readonly end: number
}

/** Upper bound of a model name (spec/resources.md §2) in bytes of JSON, with every character escaped. */
const MAX_MODEL_BYTES = 3_100

/** Limit of fields at the root: storing millions of them would cost gigabytes. */
const MAX_FIELDS = 1_024
/** A longer name cannot fold into one of {@link READ_FIELDS}. */
const MAX_FOLDED_LENGTH = 64
/** Names that case folding does not change. */
const FOLDED = /^[a-z0-9_]*$/
const FEW_FIELDS = 24

/** Limit of `n`, the answers that one hold can cover (spec/money.md §1). */
const MAX_ANSWERS = 128

type CountField = 'max_tokens' | 'max_completion_tokens' | 'n'
type ReadField = 'messages' | 'model' | 'stream' | 'stream_options' | CountField

/** The fields that the gateway reads, and their allowed JSON kinds. */
const READ_FIELDS: Readonly<Record<ReadField, readonly JsonKind[]>> = {
  // Measured if it is an array; the upstream validates other kinds.
  messages: ['array', 'object', 'string', 'number', 'true', 'false', 'null'],
  model: ['string'],
  stream: ['true', 'false', 'null'],
  stream_options: ['object', 'null'],
  max_tokens: ['number', 'null'],
  max_completion_tokens: ['number', 'null'],
  n: ['number', 'null'],
}

/**
 * Reads and validates a body. The gateway and the upstream must read the same values, so a field that the gateway
 * reads may not be duplicated, escaped, or written in another letter case (spec/security.md §2).
 *
 * @returns undefined if the client disconnected.
 * @throws {GwError} unsupported_encoding, request_too_large, invalid_json, invalid_model, invalid_parameter, and for
 *   transfer errors: bad_request, request_timeout, header_too_large.
 */
export async function readCall(req: IncomingMessage, limitBytes: number): Promise<Call | undefined> {
  const coding = req.headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity') throw new GwError('unsupported_encoding')
  const scanner = new JsonScanner()
  const utf8 = new Utf8Check()
  let offset = 0
  const body = await readBody(req, limitBytes, piece => {
    const isValid = utf8.push(piece) && scanner.push(piece, offset) && scanner.members.length <= MAX_FIELDS
    offset += piece.length
    return isValid
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

/** The root's members that the gateway reads. */
type Fields = { [name in ReadField]?: JsonMember }

/** Collects {@link READ_FIELDS}, and rejects duplicate names. */
function uniqueFields(members: readonly JsonMember[]): Fields {
  const fields: Fields = {}
  // Most bodies have few fields: a linear search is cheaper than a set.
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

/** Decodes a JSON string literal. */
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

/** A field name from a request, truncated for a message. */
function shown(name: string): string {
  return name.length <= 64 ? name : `${name.slice(0, 64)}…`
}

function text(pieces: readonly Buffer[], { start, end }: Span): string {
  return extract(pieces, start, end).toString()
}
