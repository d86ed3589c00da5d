import { decode, KINDS, type Resource, type Spec } from '../schema/kinds.ts'
import type { StoreReads } from '../store/types.ts'

/** The currency label of amounts, from the settings. */
export function currencyOf(resources: readonly Resource[]): string {
  return settingsOf(resources).currency
}

export async function readCurrency(store: Pick<StoreReads, 'find'>): Promise<string> {
  return (await readSettings(store)).currency
}

export async function readSettings(store: Pick<StoreReads, 'find'>): Promise<Spec<'settings'>> {
  return settingsOf((await store.find({ kind: 'settings' })).resources)
}

/** The defaults if nothing was applied. */
function settingsOf(resources: readonly Resource[]): Spec<'settings'> {
  const stored = resources.find(({ kind }) => kind === 'settings')
  return stored ? decode('settings', stored.spec) : KINDS.settings.parse({})
}
