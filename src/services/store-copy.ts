import { type Transferred, transferStore } from '../store/transfer/transfer.ts'
import type { AppPorts } from './context.ts'

/** Copies a store to another engine. @throws {CommandError} as {@link transferStore} */
export function copyToEngine(
  from: string,
  to: string,
  { clock, cwd: folder, signal }: Pick<AppPorts, 'clock' | 'cwd' | 'signal'>,
  onProgress: (table: string, rows: number) => void,
): Promise<Transferred> {
  return transferStore(from, to, { clock, folder, signal, onProgress })
}
