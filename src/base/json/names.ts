interface Name {
  readonly text: string
  readonly bytes: Buffer
}

/** A set of names, looked up by their bytes in place. */
export class NameTable {
  /** Indexed by length. */
  readonly #names: Name[][] = []

  constructor(texts: readonly string[]) {
    for (const text of texts) (this.#names[text.length] ??= []).push({ text, bytes: Buffer.from(text) })
  }

  /** The name between two offsets, if the table has it. */
  find(bytes: Uint8Array, from: number, to: number): string | undefined {
    const names = this.#names[to - from]
    if (!names) return undefined
    for (const name of names) if (isAt(name.bytes, bytes, from)) return name.text
    return undefined
  }
}

function isAt(name: Buffer, bytes: Uint8Array, from: number): boolean {
  for (let i = 0; i < name.length; i++) if (bytes[from + i] !== name[i]) return false
  return true
}

/**
 * Names that occur in nearly all bodies (OpenAI, Anthropic and compatible APIs). Comparing the bytes of such a name
 * costs a tenth of decoding it; any other name is decoded.
 */
export const USUAL_NAMES = new NameTable(
  `id type role name user model usage error delta index input tools object stream system choices created content
  message messages metadata thinking parameters max_tokens tool_choice temperature stop_reason service_tier
  top_p top_k n stop seed store logprobs documents query top_n stream_options stop_sequence stop_sequences
  response_format presence_penalty frequency_penalty max_completion_tokens reasoning_effort parallel_tool_calls
  system_fingerprint content_block data results meta encoding_format dimensions prompt_cache_key`.split(
    /\s+/,
  ),
)
