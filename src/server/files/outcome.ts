import type { CommandCode } from '../../base/catalogue/command.ts'
import type { Problem } from '../../config/types.ts'
import type { Counts, Revision } from '../../store/types.ts'

/** The followed files: plain data, because it crosses between threads. */
export interface FollowedTree {
  /** As passed by the user, for messages. */
  readonly paths: readonly string[]
  /** The store's URL. */
  readonly store: string
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** The functions of the thread that applies files. */
export interface FilesWorker {
  /** @param last the last apply: the same files on the same revision are not read again. */
  apply(last: FilesState | undefined): Promise<FilesOutcome>
  /** Applies nothing: compares the files with the commits after this revision. */
  compare(since: number): Promise<FilesComparison>
}

export interface FilesState {
  /** See `fingerprint`. */
  readonly fingerprint: string
  /** The revision that the files created, or already matched. */
  readonly revision: number
}

/** The result of an apply. */
export type FilesOutcome =
  | ({ readonly is: 'applied'; readonly counts: Counts; readonly warnings: readonly Problem[] } & FilesState)
  | ({ readonly is: 'unchanged' } & FilesState)
  | ({ readonly is: 'rejected'; readonly fingerprint: string } & FilesRejection)

export interface FilesComparison {
  /** The newest revision that was compared. */
  readonly revision: number
  /** The newest apply or rollback since then, which may differ from the files; absent: none. */
  readonly made?: Pick<Revision, 'id' | 'origin' | 'restores' | 'author'>
  /** The number of changes that an apply of the files would make; 0 also if the files cannot be read. */
  readonly changes: number
}

export interface FilesRejection {
  readonly code: CommandCode
  readonly message: string
  readonly hint: string
  /** Each with its place and its code frame, secrets masked; empty if the cause is not in the files. */
  readonly problems: readonly Problem[]
}
