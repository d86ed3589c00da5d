import { CommandError } from '../../base/catalogue/command.ts'
import { didYouMean } from '../../config/did-you-mean.ts'
import type { Live, Store } from '../../store/types.ts'
import { viewKeys } from './key-view.ts'
import type { KeyView } from './types.ts'

const MOST_SIMILAR = 3

/** @throws {CommandError} not_found, with similar names. */
function findKey(live: Live, name: string): KeyView {
  const keys = viewKeys(live)
  const key = keys.find(candidate => candidate.name === name)
  if (key) return key
  const similar = similarNames(
    name,
    keys.map(candidate => candidate.name),
  )
  throw new CommandError('not_found', `There is no key ${name}.`, {
    hint:
      similar.length > 0
        ? `Did you mean ${similar.join(' or ')}? \`gw keys list\` shows all.`
        : '`gw keys list` shows all; declare a new key under `keys` and apply, or use `gw keys create`.',
  })
}

/** Finds a key by name. @throws {CommandError} not_found, with similar names. */
export async function lookUpKey(store: Store, name: string): Promise<KeyView> {
  const [key] = viewKeys(await store.find({ kind: 'key', name }))
  return key ?? findKey(await store.find({ kind: 'key' }), name)
}

/** Up to three similar names: the nearest one, and those that share a part with it. */
export function similarNames(name: string, names: readonly string[]): string[] {
  const wanted = name.toLowerCase()
  const near = didYouMean(name, names)
  const parts = names.filter(candidate => {
    const other = candidate.toLowerCase()
    return other.includes(wanted) || (other.length > 2 && wanted.includes(other))
  })
  return [...new Set([...(near === undefined ? [] : [near]), ...parts])].slice(0, MOST_SIMILAR)
}
