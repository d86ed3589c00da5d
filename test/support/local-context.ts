import type { Clock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { Context } from '../../src/services/context.ts'
import { localContext } from '../../src/services/stored.ts'
import type { Store } from '../../src/store/types.ts'

/** The context of the command line on an open store, for the user `ann`. */
export function contextOn(store: Store, clock: Clock): Context {
  const { signal } = new AbortController()
  return localContext(store, { environment: { USER: 'ann' }, clock, random: systemRandom, signal })
}
