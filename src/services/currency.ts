import { decode, KINDS, type Resource } from '../schema/kinds.ts'
import type { StoreReads } from '../store/types.ts'

/** The currency label of amounts, from the settings; the default if nothing was applied. */
export function currencyOf(resources: readonly Resource[]): string {
  const stored = resources.find(({ kind }) => kind === 'settings')
  return (stored ? decode('settings', stored.spec) : KINDS.settings.parse({})).currency
}

export async function readCurrency(store: Pick<StoreReads, 'find'>): Promise<string> {
  return currencyOf((await store.find({ kind: 'settings' })).resources)
}
