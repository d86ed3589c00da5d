import type { Verification } from '../../../src/store/ledger/types.ts'

/** The result of a verification that found nothing, with these counts and 0 of all others. */
export function verified(counts: Partial<Verification>): Verification {
  return { entries: 0, archived: 0, openHolds: 0, unfoldedRows: 0, findings: [], ...counts }
}
