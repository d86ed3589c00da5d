import { iso } from '../../base/iso.ts'
import type { OperationOf } from '../../schema/api/operations.ts'
import type { AnswerOf } from '../../schema/api/types.ts'
import type { Revision } from '../../store/types.ts'

const DIRTY = '-dirty'

/** The document of a revision. */
export type RevisionShown = AnswerOf<OperationOf<'list_revisions'>>['data'][number]

export function revisionToJson(revision: Revision): RevisionShown {
  const { id, base, origin, set, author, restores, createdAtMs, counts, gitCommit } = revision
  const dirty = gitCommit?.endsWith(DIRTY) === true
  return {
    id,
    base,
    origin,
    ...(restores !== undefined && { restores }),
    ...(set !== undefined && { set }),
    ...(author !== undefined && { author }),
    ...(gitCommit !== undefined && {
      git_commit: dirty ? gitCommit.slice(0, -DIRTY.length) : gitCommit,
      dirty,
    }),
    created_at: iso(createdAtMs),
    counts: { ...counts },
  }
}
