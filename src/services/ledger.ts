import { CommandError } from '../base/catalogue/command.ts'
import { pluralize } from '../base/pluralize.ts'
import type { Finding } from '../store/ledger/types.ts'
import type { Context } from './context.ts'

/** The counts of a verification without findings. */
export interface LedgerChecked {
  readonly entries: number
  readonly openHolds: number
  /** Tenants with a balance or a hold. */
  readonly accounts: number
}

/** Rows that contradict the entries of the ledger. */
export class LedgerBroken extends CommandError {
  readonly checked: LedgerChecked
  readonly findings: readonly Finding[]
  constructor(checked: LedgerChecked, findings: readonly Finding[]) {
    super('ledger_inconsistent', `The ledger does not add up: ${pluralize(findings.length, 'finding')}.`)
    this.checked = checked
    this.findings = findings
  }
}

/**
 * Adds up every entry again and compares all derived rows with the sums.
 * @throws {LedgerBroken} with the contradictions; store_… for the store; interrupted after an abort.
 */
export async function verifyLedger(
  { store: { accounting }, signal }: Pick<Context, 'store' | 'signal'>,
  onProgress: (entries: number, ofEntries: number) => void = () => undefined,
): Promise<LedgerChecked> {
  const { entries, openHolds, findings } = await accounting.verify({ onProgress, signal })
  const checked = { entries, openHolds, accounts: (await accounting.wallets()).length }
  if (findings.length > 0) throw new LedgerBroken(checked, findings)
  return checked
}
