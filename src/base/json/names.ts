/**
 * Names that bodies have nearly always (OpenAI, Anthropic, and those like them). One of these is found by comparing
 * its bytes, for a tenth of what it costs to decode it; any other name is decoded.
 */
const USUAL =
  `id type role name user model usage error delta index input tools object stream system choices created content
  message messages metadata thinking parameters max_tokens tool_choice temperature stop_reason service_tier
  top_p top_k n stop seed store logprobs documents query top_n stream_options stop_sequence stop_sequences
  response_format presence_penalty frequency_penalty max_completion_tokens reasoning_effort parallel_tool_calls
  system_fingerprint content_block data results meta encoding_format dimensions prompt_cache_key`.split(/\s+/)

interface Name {
  readonly text: string
  readonly bytes: Buffer
}

/** By their length. */
const BY_LENGTH: readonly (readonly Name[])[] = Array.from({ length: 32 }, (_, length) =>
  USUAL.filter(text => text.length === length).map(text => ({ text, bytes: Buffer.from(text) })),
)

/** The name that stands between two offsets, where it is a usual one. */
export function usualName(bytes: Uint8Array, from: number, to: number): string | undefined {
  const names = BY_LENGTH[to - from]
  if (!names) return undefined
  for (const name of names) if (isAt(name.bytes, bytes, from)) return name.text
  return undefined
}

function isAt(name: Buffer, bytes: Uint8Array, from: number): boolean {
  for (let i = 0; i < name.length; i++) if (bytes[from + i] !== name[i]) return false
  return true
}
