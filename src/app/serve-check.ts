import { keyDigest } from '../base/api-key.ts'
import type { Check } from '../changes/types.ts'
import { compile, describe } from '../snapshot/compile.ts'

/**
 * The last look before a commit: would a gateway serve this? Secrets are not resolved here, because only the
 * gateway's own machine has them; each stands for itself, so that all the rest is compiled as it will be.
 *
 * @param signal looked at once more: from here on the transaction is on its way.
 */
export function wouldServe(signal: AbortSignal): Check {
  return async resources => {
    signal.throwIfAborted()
    const state = { revision: 0, keyVersion: 0, resources, secrets: [], suspendedKeys: [] }
    const compiled = compile(state, reference => keyDigest(describe(reference)))
    return compiled.ok ? [] : compiled.problems
  }
}
