import { parseNano } from '../../base/decimal.ts'
import type { Part } from './parts.ts'

export interface Price {
  /** Keyed by the price fields of a publication. */
  readonly amounts: Readonly<Record<string, string>>
  /** Their places. */
  readonly parts: readonly Part[]
}

/** LiteLLM's fields per token, and ours per million tokens. */
const PER_TOKEN = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cached_input',
  cache_creation_input_token_cost: 'cache_write',
} as const
const PER_CALL = { input_cost_per_request: 'per_request', input_cost_per_query: 'per_search_unit' } as const
/**
 * By mode, because the same field of a chat model prices the media that it reads. LiteLLM takes the price of the output, if both
 * are given.
 */
const PER_UNIT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  audio_transcription: { output_cost_per_second: 'per_second', input_cost_per_second: 'per_second' },
  audio_speech: { input_cost_per_character: 'per_character' },
  image_generation: { output_cost_per_image: 'per_image', input_cost_per_image: 'per_image' },
  image_edit: { output_cost_per_image: 'per_image', input_cost_per_image: 'per_image' },
}
const DECIMAL = /^(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3}))?$/

/** The price of a deployment of this mode from the file; the first place with a field wins. */
export function priceOf(places: readonly (Part | undefined)[], mode = 'chat'): Price {
  const amounts: Record<string, string> = {}
  const parts: Part[] = []
  const take = (field: string, ours: string, places10: number) => {
    for (const place of places) {
      const part = place?.member(field)
      if (part === undefined) continue
      const amount = shifted(part.text ?? '', places10)
      if (amount === undefined) part.leave('a price must be a decimal of at most nine places')
      else if (amounts[ours] === undefined) {
        amounts[ours] = amount
        parts.push(part.keep())
      }
    }
  }
  for (const [field, ours] of Object.entries(PER_TOKEN)) take(field, ours, 6)
  for (const [field, ours] of Object.entries(PER_CALL)) take(field, ours, 0)
  for (const [field, ours] of Object.entries(PER_UNIT[mode] ?? {})) take(field, ours, 0)
  return { amounts, parts }
}

/** Multiplies a decimal text by a power of ten, exactly: `1.5e-7` by 6 is `0.15`. */
export function shifted(text: string, places: number): string | undefined {
  const [matched, whole = '', part = '', exponent = '0'] = DECIMAL.exec(text) ?? []
  if (matched === undefined || whole + part === '') return undefined
  const point = whole.length + Number(exponent) + places
  const digits = whole + part
  const padded = point > 0 ? digits.padEnd(point, '0') : '0'.repeat(-point + 1) + digits
  const at = point > 0 ? point : 1
  const before = padded.slice(0, at).replace(/^0+(?=\d)/, '')
  const after = padded.slice(at).replace(/0+$/, '')
  const amount = after === '' ? before : `${before}.${after}`
  return typeof parseNano(amount) === 'bigint' ? amount : undefined
}
