import type { UsageRow } from './types.ts'

/** The sums of a row without calls. */
export const NO_USAGE: Omit<UsageRow, 'label'> = {
  requests: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  searchUnits: 0,
  amountNano: 0n,
  estimated: 0,
  unpriced: 0,
}

/** The sum of two rows, under the label of the first. */
export function plusUsage(a: UsageRow, b: UsageRow): UsageRow {
  return {
    label: a.label,
    requests: a.requests + b.requests,
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    searchUnits: a.searchUnits + b.searchUnits,
    amountNano: a.amountNano + b.amountNano,
    estimated: a.estimated + b.estimated,
    unpriced: a.unpriced + b.unpriced,
  }
}
