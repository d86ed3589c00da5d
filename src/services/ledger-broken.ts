import { CommandError } from '../base/catalogue/command.ts'
import { pluralize } from '../base/pluralize.ts'
import type { Finding } from '../store/ledger/types.ts'

/** The counts of a verification without findings. */
export interface LedgerChecked {
  readonly entries: number
  /** Entries in archives that were counted by their recorded sums, without reading the files. */
  readonly archived: number
  readonly openHolds: number
  /** Rows of journals that are not in the store yet, and so not checked. */
  readonly unfoldedRows: number
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
