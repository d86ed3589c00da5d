import type { Revision } from '../../store/types.ts'

const DIRTY = '-dirty'

/** A commit hash, and whether the files differed from the commit. */
export interface GitCommit {
  readonly hash: string
  readonly dirty: boolean
}

export function gitCommitOf({ gitCommit }: Pick<Revision, 'gitCommit'>): GitCommit | undefined {
  if (gitCommit === undefined) return undefined
  const dirty = gitCommit.endsWith(DIRTY)
  return { hash: dirty ? gitCommit.slice(0, -DIRTY.length) : gitCommit, dirty }
}

/** A revision in the format of `--format json` and REST. */
export function revisionToJson(revision: Revision) {
  const { id, base, origin, set, author, restores, createdAtMs, counts } = revision
  const commit = gitCommitOf(revision)
  return {
    id,
    base,
    origin,
    ...(restores !== undefined && { restores }),
    ...(set !== undefined && { set }),
    ...(author !== undefined && { author }),
    ...(commit && { git_commit: commit.hash, dirty: commit.dirty }),
    created_at: new Date(createdAtMs).toISOString(),
    counts: { ...counts },
  }
}
