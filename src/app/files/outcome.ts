import type { CommandCode } from '../../base/catalogue/command.ts'
import type { Problem } from '../../config/types.ts'
import type { Counts, Revision } from '../../store/types.ts'

/** What is asked of the thread that applies files: plain data, as all that crosses to it and back. */
export interface FilesJob {
  /** Present: nothing is applied, the files are compared with what was committed after this revision. */
  readonly compareSince?: number
  /** As they were given, for messages. */
  readonly paths: readonly string[]
  readonly store: string
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** What was applied last: the same files on the same revision are not read again. */
  readonly last?: FilesState
}

export interface FilesState {
  /** See `fingerprint`. */
  readonly fingerprint: string
  /** The revision that the files made, or found to be as they want it. */
  readonly revision: number
}

/** What came of it. */
export type FilesOutcome =
  | ({ readonly is: 'applied'; readonly counts: Counts; readonly warnings: readonly Problem[] } & FilesState)
  | ({ readonly is: 'unchanged' } & FilesState)
  | ({ readonly is: 'rejected'; readonly fingerprint: string } & FilesRejection)
  | ({ readonly is: 'compared' } & FilesComparison)

export interface FilesComparison {
  /** The newest revision that was looked at. */
  readonly revision: number
  /** The newest one since that could differ from the files, which an apply or a rollback made; absent: none. */
  readonly made?: Pick<Revision, 'id' | 'origin' | 'restores' | 'author'>
  /** What an apply of the files would change; 0 also where the files cannot be read. */
  readonly changes: number
}

export interface FilesRejection {
  readonly code: CommandCode
  readonly message: string
  readonly hint: string
  /** Each with its place and its frame, secrets masked; empty where it is not the files that are wrong. */
  readonly problems: readonly Problem[]
}
