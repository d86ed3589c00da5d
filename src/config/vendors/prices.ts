/**
 * The prices of well-known models at their vendors, only for `gw init --prices` and `gw import --prices`: a gateway
 * charges by its configuration. Rows come from the vendor's page, else from public price lists, on the day of
 * `PRICES_AS_OF`; models without a confirmed price are left out.
 */
export interface ListedPrice {
  /** `account` of the vendor table. */
  readonly account: string
  /** The exact model name of the vendor. */
  readonly model: string
  /** As `price` of a publication: US dollars per million tokens. */
  readonly price: Readonly<Record<string, string>>
  /** When the vendor charges more or less than this. */
  readonly note?: string
}

export const PRICES_AS_OF = '2026-11-22'
export const PRICES_CURRENCY = 'USD'

/** The price page of each vendor. */
export const PRICE_PAGES: Readonly<Record<string, string>> = {
  openai: 'https://developers.openai.com/api/docs/pricing',
  anthropic: 'https://platform.claude.com/docs/en/about-claude/pricing',
  gemini: 'https://ai.google.dev/gemini-api/docs/pricing',
  mistral: 'https://mistral.ai/pricing',
  deepseek: 'https://api-docs.deepseek.com/quick_start/pricing',
  xai: 'https://docs.x.ai/developers/pricing',
  cohere: 'https://cohere.com/pricing',
  voyage: 'https://docs.voyageai.com/docs/pricing',
}

type Row = readonly [
  model: string,
  input: string,
  output: string,
  cachedInput?: string | undefined,
  cacheWrite?: string | undefined,
  note?: string,
]

const LONG = (tokens: string) => `requests of more than ${tokens} input tokens cost more there`
const HOUR = 'cache writes for an hour cost more there'
const PEAK = 'the price at peak hours: half of it at others'

function rows(account: string, list: readonly Row[]): readonly ListedPrice[] {
  return list.map(([model, input, output, cachedInput, cacheWrite, note]) => ({
    account,
    model,
    price: {
      input,
      output,
      ...(cachedInput !== undefined && { cached_input: cachedInput }),
      ...(cacheWrite !== undefined && { cache_write: cacheWrite }),
    },
    ...(note !== undefined && { note }),
  }))
}

export const PRICE_LIST: readonly ListedPrice[] = [
  ...rows('openai', [
    ['gpt-4o', '2.50', '10', '1.25'],
    ['gpt-4o-mini', '0.15', '0.60', '0.075'],
    ['gpt-4.1', '2', '8', '0.50'],
    ['gpt-4.1-mini', '0.40', '1.60', '0.10'],
    ['gpt-5', '1.25', '10', '0.125'],
    ['gpt-5.1', '1.25', '10', '0.125'],
    ['gpt-5.2', '1.75', '14', '0.175'],
    ['gpt-5.5', '5', '30', '0.50', undefined, LONG('272,000')],
    ['gpt-5.6-terra', '2', '12', '0.20', '2.50', LONG('272,000')],
    ['gpt-5.6-luna', '0.20', '1.20', '0.02', '0.25', LONG('272,000')],
    ['gpt-6-astra', '10', '50', '1', '12.50', LONG('272,000')],
    ['gpt-6-sol', '2', '10', '0.20', '2.50', LONG('272,000')],
    ['gpt-6-luna', '0.10', '0.50', '0.01', '0.125', LONG('272,000')],
    ['gpt-6.1-sol', '2', '10', '0.10', '2.50', LONG('272,000')],
    ['o3', '2', '8', '0.50'],
    ['text-embedding-3-small', '0.02', '0'],
    ['text-embedding-3-large', '0.13', '0'],
  ]),
  ...rows('anthropic', [
    ['claude-fable-5', '10', '50', '1', '12.50', HOUR],
    ['claude-fable-5-1', '10', '50', '0.25', '12.50', HOUR],
    ['claude-opus-5-5', '4', '20', '0.20', '5', HOUR],
    ['claude-opus-5', '5', '25', '0.50', '6.25', HOUR],
    ['claude-opus-4-8', '5', '25', '0.50', '6.25', HOUR],
    ['claude-opus-4-7', '5', '25', '0.50', '6.25', HOUR],
    ['claude-opus-4-6', '5', '25', '0.50', '6.25', HOUR],
    ['claude-opus-4-5', '5', '25', '0.50', '6.25', HOUR],
    ['claude-sonnet-5-5', '2', '10', '0.10', '2.50', HOUR],
    ['claude-sonnet-5', '2', '10', '0.20', '2.50', HOUR],
    ['claude-sonnet-4-6', '3', '15', '0.30', '3.75', HOUR],
    ['claude-sonnet-4-5', '3', '15', '0.30', '3.75', HOUR],
    ['claude-haiku-5-5', '0.10', '0.50', '0.01', '0.125', LONG('100,000')],
    ['claude-haiku-4-5', '1', '5', '0.10', '1.25', HOUR],
  ]),
  ...rows('gemini', [
    ['gemini-3.8-flash', '0.75', '3.75', '0.075'],
    ['gemini-3.5-flash', '1.50', '9', '0.15'],
    ['gemini-3.1-pro-preview', '2', '12', '0.20', undefined, LONG('200,000')],
    ['gemini-3.1-flash-lite', '0.25', '1.50', '0.025'],
    ['gemini-2.5-pro', '1.25', '10', '0.125', undefined, LONG('200,000')],
    ['gemini-2.5-flash', '0.30', '2.50', '0.03', undefined, 'audio costs more there'],
    ['gemini-2.5-flash-lite', '0.10', '0.40', '0.01', undefined, 'audio costs more there'],
    ['gemini-embedding-001', '0.15', '0'],
  ]),
  ...rows('mistral', [
    ['mistral-large-2512', '0.50', '1.50'],
    ['mistral-medium-2604', '1.50', '7.50'],
    ['mistral-small-2603', '0.15', '0.60'],
    ['mistral-embed', '0.10', '0'],
  ]),
  ...rows('deepseek', [
    ['deepseek-flash', '0.30', '1.20', '0.006', undefined, PEAK],
    ['deepseek-v4-pro', '1.32', '3.96', '0.044', undefined, PEAK],
  ]),
  ...rows('xai', [['grok-4.3', '1.25', '2.50', '0.20', undefined, LONG('200,000')]]),
  ...rows('cohere', [
    ['command-a-03-2025', '2.50', '10'],
    ['command-r-08-2024', '0.15', '0.60'],
    ['command-r7b-12-2024', '0.0375', '0.15'],
  ]),
  ...rows('voyage', [
    ['voyage-4', '0.06', '0'],
    ['voyage-3.5', '0.06', '0'],
    ['rerank-2.5', '0.05', '0'],
    ['rerank-2.5-lite', '0.02', '0'],
  ]),
]

const BY_MODEL: ReadonlyMap<string, ListedPrice> = new Map(
  PRICE_LIST.map(row => [`${row.account} ${row.model}`, row]),
)

/** The listed price of a model by its exact name; undefined where it is not listed. */
export function listedPrice(account: string, model: string): ListedPrice | undefined {
  return BY_MODEL.get(`${account} ${model}`)
}
