/**
 * The tokens of one medium: `bound` is held, and no vendor is known to bill more; `likely` is billed if the upstream
 * reports no usage (sources: ADR 7).
 */
export interface MediaTokens {
  readonly bound: number
  readonly likely: number
}

export type Medium = 'image' | 'audio' | 'video' | 'document'

/** The vendor whose counting rules apply, by the protocol of the path. */
export type MediaDialect = 'openai' | 'anthropic'

/**
 * OpenAI, high detail: an image is scaled into 2048 × 2048, then down to 768 on its short side, and covered with tiles
 * of 512: at most 2 × 4. The dearest model counts 2,833 and 5,667 a tile (gpt-4o-mini). Models that count patches stay
 * below: 10,000 patches at most, times 2.46. So do open models with images of 12.8 megapixels at 28 × 28 a token.
 */
const OPENAI_IMAGE: MediaTokens = { bound: 2_833 + 8 * 5_667, likely: 765 }
/** Anthropic: patches of 28 × 28 pixels, the long edge at most 2,576 pixels, at most 4,784 of them. */
const ANTHROPIC_IMAGE: MediaTokens = { bound: 4_784, likely: 1_600 }
/**
 * The largest context window: it bounds documents, which have up to 600 pages of image and text, and films and
 * recordings given by reference, which have any length.
 */
const WINDOW_TOKENS = 1_048_576

const SECOND = {
  /** Gemini counts 32 tokens a second, the most of all; OpenAI counts 10. */
  boundTokens: 32,
  likelyTokens: 10,
  /** The lowest MP3 rate is 8 kbit/s; most recordings have about 128. */
  leastBytes: 1_000,
  likelyBytes: 16_000,
} as const
/** Minimum of any recording. */
const LEAST_AUDIO_TOKENS = 1_000
/** A recording of a minute, a film of a minute at 300 tokens a second, a page of text. */
const NAMED_AUDIO_LIKELY = 600
const VIDEO_LIKELY = 18_000
const PAGE_LIKELY = 3_000
const PAGE_LIKELY_BYTES = 51_200

/**
 * @param base64Bytes Size of an embedded medium; absent for a URL or the id of a file.
 */
export function mediaTokens(medium: Medium, dialect: MediaDialect, base64Bytes?: number): MediaTokens {
  const bytes = base64Bytes === undefined ? undefined : (base64Bytes * 3) / 4
  switch (medium) {
    case 'image':
      return dialect === 'anthropic' ? ANTHROPIC_IMAGE : OPENAI_IMAGE
    case 'audio':
      return bytes === undefined ? { bound: WINDOW_TOKENS, likely: NAMED_AUDIO_LIKELY } : heard(bytes)
    case 'video':
      return { bound: WINDOW_TOKENS, likely: VIDEO_LIKELY }
    case 'document':
      return { bound: WINDOW_TOKENS, likely: read(bytes ?? 0) }
  }
}

/** An earlier audio answer, referenced by its id: the longest of an OpenAI model. */
export const EARLIER_ANSWER_AUDIO: MediaTokens = { bound: 16_384, likely: NAMED_AUDIO_LIKELY }

/** The duration of a recording, by its size. */
export function recordingMs(bytes: number): { readonly bound: number; readonly likely: number } {
  const ms = (bytesPerSecond: number) => Math.ceil((bytes * 1_000) / bytesPerSecond)
  return { bound: ms(SECOND.leastBytes), likely: ms(SECOND.likelyBytes) }
}

function heard(bytes: number): MediaTokens {
  const bound = LEAST_AUDIO_TOKENS + Math.ceil((bytes / SECOND.leastBytes) * SECOND.boundTokens)
  const likely = Math.ceil((bytes / SECOND.likelyBytes) * SECOND.likelyTokens)
  return { bound: Math.min(bound, WINDOW_TOKENS), likely }
}

function read(bytes: number): number {
  const pages = Math.max(1, Math.ceil(bytes / PAGE_LIKELY_BYTES))
  return Math.min(pages * PAGE_LIKELY, WINDOW_TOKENS)
}

/** The medium of a media type; anything unknown counts as a document, the most expensive one. */
export function mediumOf(mediaType: string): Medium {
  const kind = /^(image|audio|video)\//i.exec(mediaType)?.[1]?.toLowerCase()
  return (kind as Medium | undefined) ?? 'document'
}
