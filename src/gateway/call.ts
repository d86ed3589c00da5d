import type { IncomingMessage } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'
import type { JsonKind } from '../base/json/grammar.ts'
import { type JsonMember, JsonScanner } from '../base/json/scanner.ts'
import { Utf8Check } from '../base/json/utf8.ts'
import { extract } from '../base/splice.ts'
import { type BodyFault, readBody } from '../http/body.ts'
import { type ByteCapacity, CapacityShare } from '../http/byte-capacity.ts'
import { type BodyFields, INFERENCE_PATHS, type InferencePath } from '../schema/paths.ts'
import type { Upload } from './upload.ts'

/** An inference request's body: its bytes, and the few fields that the gateway reads from them. */
export interface Call {
  /** The body as received; emptied once it cannot be sent again. */
  readonly pieces: Buffer[]
  readonly lengthBytes: number
  /** Offset after the opening brace. */
  readonly objectStart: number
  readonly model: string
  /** Absent without a body. */
  readonly modelAt: Span | undefined
  readonly stream: boolean
  /** Positions of the fields that the gateway reads; also of a field that is null. */
  readonly fields: Fields
  /** The largest output limit of the client; undefined without one. */
  readonly outputLimit: number | undefined
  /** Requested answers; at least 1. */
  readonly answers: number
  /** The stored response that this call continues; only on paths that can. */
  readonly previousResponseId: string | undefined
  /** The body, if it is no JSON; `pieces` is empty then. */
  readonly upload: Upload | undefined
  /** The memory of `pieces`, if they are large; released with them. */
  readonly held: CapacityShare | undefined
}

/** The members at the root that the gateway reads, by name. */
export type Fields = Readonly<Record<string, JsonMember | undefined>>

/** A request without a body, about a model that its path implies. */
export function emptyCall(model: string): Call {
  return {
    pieces: [],
    lengthBytes: 0,
    objectStart: 0,
    model,
    modelAt: undefined,
    stream: false,
    fields: {},
    outputLimit: undefined,
    answers: 1,
    previousResponseId: undefined,
    upload: undefined,
    held: undefined,
  }
}

export interface Span {
  readonly start: number
  readonly end: number
}

/** Upper bound of a model name (spec/resources.md §2) in bytes of JSON, with every character escaped. */
const MAX_MODEL_BYTES = 3_100

/** Smaller bodies are not counted: the limit of connections bounds them. */
const LARGE_BYTES = 1_048_576
/** A large body is held until its upstream has answered. */
const NO_ROOM_MS = 5_000

/** Limit of fields at the root: storing millions of them would cost gigabytes. */
const MAX_FIELDS = 1_024
/** A longer name cannot fold into one that the gateway reads. */
const MAX_FOLDED_LENGTH = 64
const USAGE_OPTION = 'include_usage'
/** Names that case folding does not change. */
const FOLDED = /^[a-z0-9_]*$/
const FEW_FIELDS = 24

/** Limit of `n`, the answers that one hold can cover (spec/money.md §1). */
const MAX_ANSWERS = 128

/** Fields and their allowed JSON kinds. */
type FieldKinds = Readonly<Record<string, readonly JsonKind[]>>

/** The names of llama.cpp, which it reads before those of OpenAI. Other servers ignore them: they bound no hold. */
const REPLACED_FIELDS: Readonly<Record<string, string>> = {
  n_predict: '`max_tokens` or `max_output_tokens`',
  n_cmpl: '`n`',
}

/** The fields that the gateway reads on every path. */
const COMMON_FIELDS: FieldKinds = {
  n_predict: ['null'],
  n_cmpl: ['null'],
  model: ['string'],
  stream: ['true', 'false', 'null'],
  stream_options: ['object', 'null'],
}
/** Content is measured if it is an array; the upstream validates other kinds. */
const ANY_KIND: readonly JsonKind[] = ['array', 'object', 'string', 'number', 'true', 'false', 'null']
const COUNT: readonly JsonKind[] = ['number', 'null']

/** Fields that concern stored responses. */
const STORED_FIELDS: FieldKinds = {
  previous_response_id: ['string', 'null'],
  conversation: ANY_KIND,
  background: ['true', 'false', 'null'],
  store: ['true', 'false', 'null'],
  prompt: ['object', 'null'],
}

/** The fields that the gateway reads on a path. */
const FIELD_KINDS: ReadonlyMap<BodyFields, FieldKinds> = new Map(
  INFERENCE_PATHS.map(({ fields }: InferencePath) => [fields, fieldKinds(fields)]),
)

function fieldKinds({ content, outputLimits = [], answers = [], refersToStored }: BodyFields): FieldKinds {
  const counts = [...outputLimits, ...answers].map(name => [name, COUNT] as const)
  return {
    ...COMMON_FIELDS,
    ...(content && { [content.name]: ANY_KIND }),
    ...(refersToStored && STORED_FIELDS),
    ...Object.fromEntries(counts),
  }
}

/**
 * Reads and validates a body. The gateway and the upstream must read the same values, so a field that the gateway
 * reads may not be duplicated, escaped, or written in another letter case (spec/security.md §2).
 *
 * @returns undefined if the client disconnected.
 * @throws {GwError} unsupported_encoding, request_too_large, invalid_json, invalid_model, invalid_parameter; unavailable if
 *   there is no room for a large body; and for transfer errors: bad_request, request_timeout, header_too_large.
 */
export async function readCall(
  req: IncomingMessage,
  path: InferencePath,
  limitBytes: number,
  memory: ByteCapacity,
): Promise<Call | undefined> {
  assertUncompressed(req)
  const scanner = new JsonScanner()
  const utf8 = new Utf8Check()
  let offset = 0
  let held: CapacityShare | undefined
  let hasRoom = true
  let call: Call | undefined
  try {
    const body = await readBody(req, limitBytes, piece => {
      const isValid = utf8.push(piece) && scanner.push(piece, offset) && scanner.members.length <= MAX_FIELDS
      offset += piece.length
      if (!isValid || offset <= LARGE_BYTES) return isValid
      held ??= new CapacityShare(memory)
      hasRoom = held.growTo(offset)
      return hasRoom
    })
    if (!body.ok) {
      if (body.fault === 'aborted') return undefined
      if (!hasRoom) throw noRoom()
      throw body.fault === 'unwanted' ? notJson(scanner) : unread(body.fault, limitBytes)
    }
    if (!scanner.done || !utf8.end() || scanner.rootKind !== 'object') throw notJson(scanner)
    const read = toCall(body.pieces, body.lengthBytes, scanner, path.fields, held)
    if (path.usageOnRequest && read.stream) assertUsageOption(read.pieces, read.fields['stream_options'])
    call = read
    return call
  } finally {
    if (!call) held?.release()
  }
}

function noRoom(): GwError {
  return new GwError('unavailable', 'The gateway holds as many large bodies as it has memory for.', {
    retryAfterMs: NO_ROOM_MS,
  })
}

/** @throws {GwError} unsupported_encoding. */
export function assertUncompressed(req: IncomingMessage): void {
  const coding = req.headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity') throw new GwError('unsupported_encoding')
}

/** The error of a body that is too large, or whose transfer failed. */
export function unread(fault: Exclude<BodyFault, 'aborted' | 'unwanted'>, limitBytes: number): GwError {
  return fault === 'too_large'
    ? new GwError('request_too_large', `The body is larger than ${limitBytes} bytes.`)
    : new GwError(fault.code, undefined, { headers: { connection: 'close' } })
}

function notJson(scanner: JsonScanner): GwError {
  if (scanner.fault === 'too_deep')
    return new GwError('invalid_json', 'The body is nested more than 128 levels deep.')
  if (scanner.members.length > MAX_FIELDS)
    return new GwError('invalid_json', `The body has more than ${MAX_FIELDS} fields.`)
  return new GwError('invalid_json', 'The body is not a JSON object in UTF-8.')
}

function toCall(
  pieces: Buffer[],
  lengthBytes: number,
  { members, rootStart }: JsonScanner,
  read: BodyFields,
  held: CapacityShare | undefined,
): Call {
  const fields = uniqueFields(members, FIELD_KINDS.get(read) ?? COMMON_FIELDS)
  const { model, stream } = fields
  if (!model) throw new GwError('invalid_model', '`model` is missing.')
  const name = model.end - model.start > MAX_MODEL_BYTES ? '' : unquoted(text(pieces, model))
  if (name === '')
    throw new GwError('invalid_model', '`model` must be a non-empty string of at most 256 characters.')
  const count = (field: string, max: number): number | undefined => {
    const member = fields[field]
    return member?.kind === 'number' ? readCount(field, text(pieces, member), max) : undefined
  }
  let outputLimit: number | undefined
  for (const field of read.outputLimits ?? []) {
    const limit = count(field, Number.MAX_SAFE_INTEGER)
    if (limit === undefined) continue
    // Some servers read a 0 as "unlimited": the other one would not bound the hold.
    if (outputLimit !== undefined && (limit === 0) !== (outputLimit === 0))
      throw invalid(field, 'One output limit is 0, and another is not.')
    outputLimit = Math.max(outputLimit ?? 0, limit)
  }
  let answers = 1
  for (const field of read.answers ?? []) answers *= Math.max(count(field, MAX_ANSWERS) ?? 1, 1)
  return {
    pieces,
    lengthBytes,
    objectStart: rootStart + 1,
    model: name,
    modelAt: model,
    stream: stream?.kind === 'true',
    fields,
    outputLimit,
    answers,
    previousResponseId: read.refersToStored ? previousResponse(pieces, fields) : undefined,
    upload: undefined,
    held,
  }
}

/** Upper bound of an id; a longer one cannot be known. */
const MAX_ID_BYTES = 512

/**
 * The stored response that a call continues.
 * @throws {GwError} invalid_parameter for a call whose usage the gateway could not bill, or whose location it cannot know.
 */
function previousResponse(
  pieces: readonly Buffer[],
  { previous_response_id: previous, background, conversation }: Fields,
): string | undefined {
  if (background?.kind === 'true') {
    throw invalid(
      'background',
      '`background` is not supported: an answer that is fetched later has no usage to bill. Leave it out, or stream.',
    )
  }
  if (conversation && conversation.kind !== 'null') {
    throw invalid('conversation', '`conversation` is not supported. Send `previous_response_id` instead.')
  }
  if (previous?.kind !== 'string') return undefined
  return previous.end - previous.start > MAX_ID_BYTES ? '' : unquoted(text(pieces, previous))
}

/** Collects the fields that the gateway reads, and rejects duplicate names. */
function uniqueFields(members: readonly JsonMember[], read: FieldKinds): Fields {
  const fields: Record<string, JsonMember | undefined> = {}
  // Most bodies have few fields: a linear search is cheaper than a set.
  const names = members.length > FEW_FIELDS ? new Set<string>() : undefined
  for (const [at, member] of members.entries()) {
    const { name } = member
    if (names ? names.has(name) : isBefore(members, at, name))
      throw invalid(name, `\`${shown(name)}\` is given twice.`)
    names?.add(name)
    const kinds = kindsOf(name, read)
    if (kinds) {
      if (!kinds.includes(member.kind)) throw invalid(name, wrongKind(name, kinds))
      fields[name] = member
      continue
    }
    const folded = otherSpellingOf(name)
    if (folded !== undefined && kindsOf(folded, read))
      throw invalid(folded, `\`${shown(name)}\` must be written \`${folded}\`.`)
  }
  return fields
}

function wrongKind(name: string, kinds: readonly JsonKind[]): string {
  const replacement = REPLACED_FIELDS[name]
  return replacement === undefined
    ? `\`${name}\` must be ${kinds.join(' or ')}.`
    : `\`${name}\` is not supported. Send ${replacement} instead.`
}

/**
 * The usage of a stream is its bill: no upstream may read as false what the gateway does not.
 * @throws {GwError} invalid_parameter.
 */
function assertUsageOption(pieces: readonly Buffer[], options: JsonMember | undefined): void {
  if (options?.kind !== 'object') return
  const scanner = new JsonScanner()
  scanner.push(extract(pieces, options.start, options.end), options.start)
  for (const { name, kind } of scanner.members) {
    if (name === USAGE_OPTION) {
      if (kind === 'true' || kind === 'false' || kind === 'null') continue
      throw invalid('stream_options', `\`stream_options.${USAGE_OPTION}\` must be true, false or null.`)
    }
    if (otherSpellingOf(name) === USAGE_OPTION)
      throw invalid('stream_options', `\`${shown(name)}\` must be written \`${USAGE_OPTION}\`.`)
  }
}

/** Decodes a JSON string literal. */
function unquoted(json: string): string {
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1)
}

function isBefore(members: readonly JsonMember[], end: number, name: string): boolean {
  for (let at = 0; at < end; at++) if (members[at]?.name === name) return true
  return false
}

/**
 * The field that some upstreams read for a name; undefined if it is written so. They match names in any letter case (Go's
 * encoding/json, with Unicode's folding of ſ and K).
 */
function otherSpellingOf(name: string): string | undefined {
  return name.length > MAX_FOLDED_LENGTH || FOLDED.test(name)
    ? undefined
    : name.normalize('NFKC').toLowerCase()
}

function kindsOf(name: string, read: FieldKinds): readonly JsonKind[] | undefined {
  return Object.hasOwn(read, name) ? read[name] : undefined
}

/** @throws {GwError} invalid_parameter. */
export function readCount(field: string, json: string, max = MAX_ANSWERS): number {
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
