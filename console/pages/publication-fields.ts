import type { FormField } from '../ui/resource-form.tsx'

const PRICES: readonly FormField[] = [
  {
    path: 'price.input',
    label: 'Price: input',
    type: 'text',
    hint: 'For a million tokens; without any price the model is free.',
  },
  { path: 'price.output', label: 'Price: output', type: 'text', hint: 'For a million tokens.' },
  { path: 'price.cached_input', label: 'Price: cached input', type: 'text', isRare: true },
  { path: 'price.cache_write', label: 'Price: cache write', type: 'text', isRare: true },
  { path: 'price.per_request', label: 'Price: request', type: 'text', isRare: true },
  { path: 'price.per_search_unit', label: 'Price: search unit', type: 'text', isRare: true },
  { path: 'price.per_second', label: 'Price: second of audio', type: 'text', isRare: true },
  { path: 'price.per_character', label: 'Price: character of speech', type: 'text', isRare: true },
  { path: 'price.per_image', label: 'Price: image', type: 'text', isRare: true },
]

const OTHERS: readonly FormField[] = [
  {
    path: 'status',
    label: 'Status',
    type: ['draft', 'listed', 'unlisted', 'banned'],
    hint: 'Only listed models can be seen and called.',
  },
  { path: 'display_name', label: 'Display name', type: 'text' },
  { path: 'owned_by', label: 'Owned by', type: 'text', hint: 'Shown in /v1/models.', isRare: true },
  { path: 'max_input_tokens', label: 'Context window, tokens', type: 'number', isRare: true },
  { path: 'max_output_tokens', label: 'Output to reserve, tokens', type: 'number', isRare: true },
  {
    path: 'output_cap',
    label: 'Field that limits output',
    type: ['none', 'max_tokens', 'max_completion_tokens'],
    isRare: true,
  },
  { path: 'on_disconnect', label: 'If a client disconnects', type: ['abort', 'drain'], isRare: true },
  {
    path: 'on_upstream_error',
    label: 'If an upstream fails in mid-stream',
    type: ['charge', 'free'],
    isRare: true,
  },
]

/** @param hasDatedPrice the price is a list with dates, which the form cannot edit: its fields are left out. */
export function publicationFields(hasDatedPrice: boolean): readonly FormField[] {
  return hasDatedPrice ? OTHERS : [...PRICES.slice(0, 2), ...OTHERS, ...PRICES.slice(2)]
}
