import { type Usage, usageOf } from '../schema/ledger.ts'
import type { UsageDialect } from '../schema/paths.ts'

type Fields = Readonly<Record<string, unknown>>

/** Answers whose text is charged if there is no usage. */
const TEXT_DIALECTS: ReadonlySet<UsageDialect> = new Set([
  'openai_chat',
  'completions',
  'responses',
  'anthropic_messages',
  'transcription',
])

/** Limit of recorded items of one answer. */
const MAX_ITEM_IDS = 255

/** What is known of an answer before it arrives. */
export interface ExpectedUsage {
  /** The estimated input; never more than was held. */
  readonly inputTokens: number
  /** The limit that the upstream keeps, of all answers together: the client's own, or the one that gw adds. Absent: none. */
  readonly maxOutputTokens?: number | undefined
  /** Known before the answer: the text to read aloud, and the requested images. */
  readonly characters: number
  readonly images: number
  /** The probable output of these images; never more than was held. */
  readonly imageTokens: number
  /** The probable duration of a recording in the request; 0 once the answer has reported it. */
  readonly durationMs: number
}

/** The usage of an answer, as far as it is known. */
export interface MeasuredUsage extends ExpectedUsage {
  /** As the upstream reported it; undefined if it is absent or invalid: negative, fractional, or implausibly large. */
  readonly reported: Usage | undefined
  /** A final report has arrived, not only the initial one of a stream. */
  readonly isFinal: boolean
  /** The text that passed, if the output of this kind of answer is charged. */
  readonly textBytes: number
  /** The least that a rerank takes. */
  readonly searchUnits: number
}

/**
 * Measures the usage of a streaming answer: what the upstream reports, and the text that passes.
 *
 * A later report overrides an earlier one field by field: a missing or null field keeps its value, an explicit 0 is a 0.
 * Reports are never added up.
 */
export class AnswerMeter {
  readonly #dialect: UsageDialect
  readonly #expected: ExpectedUsage
  #fields: Fields | undefined
  #meta: Fields | undefined
  #isFinal = false
  #textBytes = 0
  #hasBegun = false
  #responseId: string | undefined
  #itemIds: Set<string> | undefined

  constructor(dialect: UsageDialect, expected: ExpectedUsage) {
    this.#dialect = dialect
    this.#expected = expected
  }

  /** Whether a part of the answer's body has arrived. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Whether the final usage of the answer has arrived. */
  get isFinal(): boolean {
    return this.#isFinal
  }

  /**
   * A member that may contain usage has passed.
   *
   * @param name `usage`, `meta`, or `message.usage` for the initial usage of an Anthropic stream.
   * @param json Its value. Ignored if it is not a JSON object.
   */
  onMember(name: string, json: Buffer): void {
    const fields = parseObject(json)
    if (!fields) return
    if (name === 'meta') this.#meta = fields
    else this.#fields = this.#fields ? overridden(this.#fields, fields) : fields
    this.#isFinal ||= name !== 'message.usage'
  }

  /** A part of the body has passed, with this many bytes of text written by the model. */
  onText(bytes: number): void {
    this.#hasBegun = true
    this.#textBytes += bytes
    // A report before more text is an interim one.
    if (bytes > 0) this.#isFinal = false
  }

  /** The answer, or an item of it, may be stored under this id. */
  onStoredId(of: 'response' | 'item', id: string): void {
    if (of === 'response') {
      this.#responseId = id
      return
    }
    this.#itemIds ??= new Set()
    if (this.#itemIds.size < MAX_ITEM_IDS) this.#itemIds.add(id)
  }

  /** The ids of the answer, first, and of its items; absent if it is not stored. */
  get storedIds(): readonly string[] | undefined {
    return this.#responseId === undefined ? undefined : [this.#responseId, ...(this.#itemIds ?? [])]
  }

  measured(): MeasuredUsage {
    const isText = TEXT_DIALECTS.has(this.#dialect)
    const { inputTokens, maxOutputTokens, characters, images, imageTokens, durationMs } = this.#expected
    const reported = this.#reported()
    const isTimed = reported !== undefined && typeof this.#fields?.['seconds'] === 'number'
    return {
      reported,
      isFinal: this.#isFinal,
      textBytes: isText ? this.#textBytes : 0,
      inputTokens,
      maxOutputTokens,
      searchUnits: this.#dialect === 'rerank' ? 1 : 0,
      characters,
      images,
      imageTokens,
      durationMs: isTimed ? 0 : durationMs,
    }
  }

  #reported(): Usage | undefined {
    switch (this.#dialect) {
      case 'openai_chat':
      case 'completions':
        return this.#fields && openaiChat(this.#fields)
      case 'moderations':
        return this.#fields ? openaiChat(this.#fields) : usageOf({})
      case 'transcription':
        return this.#fields && transcription(this.#fields)
      case 'images':
      case 'speech':
      case 'responses':
        return this.#fields && response(this.#fields)
      case 'anthropic_messages':
        return this.#fields && anthropicMessages(this.#fields)
      case 'embeddings':
        return this.#fields && inputOnly(this.#fields['prompt_tokens'] ?? this.#fields['total_tokens'])
      case 'rerank':
        return rerank(this.#fields ?? {}, this.#meta ?? {})
    }
  }
}

function openaiChat(fields: Fields): Usage | undefined {
  const details = asObject(fields['prompt_tokens_details'])
  return usage({
    input: fields['prompt_tokens'],
    cached: details['cached_tokens'] ?? 0,
    cacheWrite: details['cache_write_tokens'] ?? 0,
    output: completionTokens(fields),
  })
}

/** xAI counts reasoning beside `completion_tokens`, OpenAI within them; the total tells which. */
function completionTokens(fields: Fields): unknown {
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = fields
  const reasoning = asObject(fields['completion_tokens_details'])['reasoning_tokens']
  if (!isCount(input) || !isCount(output) || !isCount(reasoning)) return output
  return total === input + output + reasoning ? output + reasoning : output
}

function response(fields: Fields): Usage | undefined {
  const details = asObject(fields['input_tokens_details'])
  return usage({
    input: fields['input_tokens'],
    cached: details['cached_tokens'] ?? 0,
    cacheWrite: details['cache_write_tokens'] ?? 0,
    output: fields['output_tokens'],
  })
}

/** By tokens, or by the duration of the recording. */
function transcription(fields: Fields): Usage | undefined {
  const { seconds } = fields
  if (typeof seconds !== 'number') return response(fields)
  const durationMs = Math.round(seconds * 1_000)
  return isCount(durationMs) ? usageOf({ durationMs }) : undefined
}

function anthropicMessages(fields: Fields): Usage | undefined {
  const cached = fields['cache_read_input_tokens'] ?? 0
  const cacheWrite = fields['cache_creation_input_tokens'] ?? 0
  const fresh = fields['input_tokens']
  const input = [fresh, cached, cacheWrite].every(count => isCount(count))
    ? Number(fresh) + Number(cached) + Number(cacheWrite)
    : undefined
  return usage({ input, cached, cacheWrite, output: fields['output_tokens'] ?? 0 })
}

function rerank(fields: Fields, meta: Fields): Usage | undefined {
  const billed = asObject(meta['billed_units'])
  const input =
    fields['total_tokens'] ??
    fields['prompt_tokens'] ??
    asObject(meta['tokens'])['input_tokens'] ??
    billed['input_tokens'] ??
    undefined
  const searchUnits = billed['search_units'] ?? undefined
  if (input === undefined && searchUnits === undefined) return undefined
  const read = inputOnly(input ?? 0)
  if (!read || (searchUnits !== undefined && !isCount(searchUnits, MAX_SEARCH_UNITS))) return undefined
  return { ...read, searchUnits: searchUnits ?? 0 }
}

function inputOnly(input: unknown): Usage | undefined {
  return usage({ input, cached: 0, cacheWrite: 0, output: 0 })
}

function usage(parts: {
  input: unknown
  cached: unknown
  cacheWrite: unknown
  output: unknown
}): Usage | undefined {
  const { input, cached, cacheWrite, output } = parts
  if (!isCount(input) || !isCount(cached) || !isCount(cacheWrite) || !isCount(output)) return undefined
  const cachedInputTokens = Math.min(cached, input)
  return usageOf({
    inputTokens: input,
    cachedInputTokens,
    cacheWriteTokens: Math.min(cacheWrite, input - cachedInputTokens),
    outputTokens: output,
  })
}

/** No answer has a billion tokens: a wrong report must not empty a wallet. */
const MAX_COUNT = 1_000_000_000
/** A search unit is a query with up to 100 documents; a body has not a hundred million documents. */
const MAX_SEARCH_UNITS = 1_000_000

function isCount(value: unknown, most = MAX_COUNT): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= most
}

function asObject(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

/** A field that is null in the later report keeps its earlier value; in the first report null means absent. */
function overridden(earlier: Fields, later: Fields): Fields {
  const fields = { ...earlier }
  for (const [name, value] of Object.entries(later)) if (value !== null) fields[name] = value
  return fields
}

function parseObject(json: Buffer): Fields | undefined {
  try {
    // latin1 suffices for numbers, and is cheaper to parse than UTF-8.
    const value: unknown = JSON.parse(json.toString('latin1'))
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined
  } catch {
    // The member passed through as bytes; the client handles invalid JSON.
    return undefined
  }
}
