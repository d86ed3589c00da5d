import type { Archive, ArchiveRequest, ArchiveWatch, Archiving } from '../store/ledger/types.ts'
import type { Context } from './context.ts'
import { LedgerBroken, type LedgerChecked } from './ledger-broken.ts'
import { readCurrency } from './settings.ts'

/**
 * Adds up every entry again and compares all derived rows with the sums.
 * @param files archives whose entries are added up as well.
 * @throws {LedgerBroken} with the contradictions; archive_damaged, archive_unknown; store_… for the store; interrupted after an abort.
 */
export async function verifyLedger(
  { store: { accounting }, signal }: Pick<Context, 'store' | 'signal'>,
  files: readonly string[] = [],
  onProgress: (entries: number, ofEntries: number) => void = () => undefined,
): Promise<LedgerChecked> {
  const { findings, ...counts } = await accounting.verify({ onProgress, signal, files })
  const checked = { ...counts, accounts: (await accounting.wallets()).length }
  if (findings.length > 0) throw new LedgerBroken(checked, findings)
  return checked
}

/**
 * Moves the ends of calls before a time to a new file.
 * @throws {CommandError} file_exists, ledger_inconsistent; store_…; interrupted after an abort
 */
export async function archiveLedger(
  { store, signal }: Pick<Context, 'store' | 'signal'>,
  { path, beforeMs }: Omit<ArchiveRequest, 'currency'>,
  onProgress: NonNullable<ArchiveWatch['onProgress']>,
): Promise<Archiving> {
  const currency = await readCurrency(store)
  return store.accounting.archive({ path, beforeMs, currency }, { onProgress, signal })
}

export function listArchives({ store }: Pick<Context, 'store'>): Promise<readonly Archive[]> {
  return store.accounting.archives()
}
