import { keyDigest } from '../base/api-key.ts'
import { compile, describe } from '../snapshot/compile.ts'
import type { Check } from './changes/types.ts'

/**
 * The check before a commit: whether a gateway could serve the resources. Secrets are not resolved, because only the
 * gateway's machine has them; a placeholder for each lets the compiler check the rest.
 *
 * @param signal is checked once more here; after that the transaction proceeds.
 */
export function wouldServe(signal: AbortSignal): Check {
  return async resources => {
    signal.throwIfAborted()
    const state = { revision: 0, keyVersion: 0, resources, secrets: [], suspendedKeys: [] }
    const compiled = compile(state, reference => keyDigest(describe(reference)))
    return compiled.ok ? [] : compiled.problems
  }
}
