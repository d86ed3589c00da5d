import type { RevisionShown } from '../../services/history.ts'
import type { Counts } from '../../store/types.ts'
import type { Style } from './style.ts'
import { type Column, table } from './table.ts'

/** As git abbreviates hashes. */
const HASH_DIGITS = 10
const NONE = '-'

/**
 *     REVISION  WHEN                  BY                     FROM           COMMIT       CHANGES
 *     3         2026-01-15T12:30:00Z  ben                    rollback to 1               +1 ~2
 *     2         2026-01-15T12:10:00Z  Ada <ada@example.com>  apply (shop)   0f3c9d1a2b*  ~3 -1
 */
export function historyToText(
  revisions: readonly RevisionShown[],
  style: Style,
  width: number | undefined,
): string {
  const columns: Column<RevisionShown>[] = [
    { title: 'REVISION', cell: ({ id }) => String(id) },
    { title: 'WHEN', cell: ({ created_at: at }) => whenText(at) },
    { title: 'BY', cell: ({ author }) => author ?? NONE, narrowest: 6, dispensable: true },
    { title: 'FROM', cell: originText, narrowest: 5, dispensable: true },
    ...(revisions.some(({ git_commit: commit }) => commit !== undefined)
      ? [{ title: 'COMMIT', cell: commitText, narrowest: 8, dispensable: true as const }]
      : []),
    { title: 'CHANGES', cell: ({ counts }) => countsText(counts) },
  ]
  return table(columns, revisions, style, width)
}

/** The head of `gw show`: one field per line. */
export function revisionToText(revision: RevisionShown, style: Style): string {
  const { id, author, created_at: at, git_commit: commit, dirty } = revision
  const fields = [
    ['revision', String(id)],
    ['when', whenText(at)],
    ['by', author ?? NONE],
    ['from', originText(revision)],
    ...(commit ? [['commit', commit + (dirty ? ', and files that differed from it' : '')]] : []),
  ]
  return fields.map(([name = '', value = '']) => `${style.strong(name.padEnd(8))}  ${value}\n`).join('')
}

function originText({ origin, set, restores }: RevisionShown): string {
  if (restores !== undefined) return `rollback to ${restores}`
  const words = { apply: 'apply', cli: 'command line', rest: 'REST', rollback: 'rollback' }[origin]
  return set === undefined ? words : `${words} (${set})`
}

/** With a star if the files differed from the commit. */
function commitText({ git_commit: commit = '', dirty }: RevisionShown): string {
  return commit.slice(0, HASH_DIGITS) + (dirty ? '*' : '')
}

function countsText({ create, update, delete: remove }: Counts): string {
  const parts = [create > 0 && `+${create}`, update > 0 && `~${update}`, remove > 0 && `-${remove}`]
  return parts.filter(part => part !== false).join(' ') || NONE
}

function whenText(at: string): string {
  return at.replace(/\.\d{3}Z$/, 'Z')
}
