import type { Kysely } from 'kysely'
import { CommandError } from '../base/catalogue/command.ts'
import { selectMatching } from './find.ts'
import { applyToKeys } from './key-secrets.ts'
import {
  retireAccounts,
  selectAccountNames,
  underNewNames,
  writeAccountNames,
  writeRenames,
} from './renames.ts'
import { replacedIn } from './replaced.ts'
import { afterCommit, resourceId, selectNamed, selectResources, writeResources } from './resources.ts'
import { insertChanges } from './revision-changes.ts'
import { insertRevision } from './revisions.ts'
import { applyToStored } from './stored-credentials.ts'
import type { Tables } from './tables.ts'
import type { Changed, Commit, CommitGuard, Head, Revision, StoredResource } from './types.ts'
import { applyToTenantUsers } from './users/tenant-users.ts'

/**
 * Writes the revision that follows `commit.base`. Must run in a transaction that holds the write lock, and that rolls
 * back if this throws.
 *
 *     still at base? ──▶ named resources ──▶ revision, changes, resources ──▶ guard ──▶ credentials, accounts, keys
 *           │                                                                  │             │
 * revision_changed                                                error of the guard  not_servable
 *
 * It reads and writes only the named resources, so the cost of one more key does not depend on their number.
 * @returns whether a secret or a suspension of a key changed.
 * @throws {CommandError} revision_changed, not_servable, still_referenced, and the errors of the guard.
 */
export async function writeCommit(
  db: Kysely<Tables>,
  head: Head,
  commit: Commit,
  nowMs: number,
  guard?: CommitGuard,
): Promise<{ readonly revision: Revision; readonly keysChanged: boolean }> {
  if (head.revision !== commit.base) {
    throw new CommandError(
      'revision_changed',
      `The plan was made against revision ${commit.base}, but the store is at ${head.revision}.`,
    )
  }
  const { renames = [] } = commit
  const named = [
    ...commit.puts,
    ...commit.deletes,
    ...renames.flatMap(({ kind, from, to }) => [
      { kind, name: from },
      { kind, name: to },
    ]),
  ]
  const before = await selectNamed(db, named)
  const withAccounts = [
    ...named,
    ...before.flatMap(({ kind, account }) => (account === undefined ? [] : { kind, name: account })),
  ]
  const names = await selectAccountNames(db, withAccounts)
  const renamed = underNewNames(before, renames)
  const after = afterCommit(renamed, commit, commit.base + 1, nowMs, names)

  const revision = await insertRevision(db, commit, nowMs)
  await insertChanges(db, revision.id, before, after)
  await writeRenames(db, renames)
  await writeResources(db, commit, renamed, after)
  await guard?.({
    changed: changesOf(renamed, after),
    find: query => selectMatching(db, query),
    all: () => selectResources(db),
  })
  const gone = [...commit.deletes, ...replacedIn(renamed, after)]
  await applyToTenantUsers(db, gone, commit.tenantUsers)
  const { kept = [] } = commit
  if (kept.length > 0 || named.some(({ kind }) => kind === 'endpoint'))
    await applyToStored(db, kept, await selectMatching(db, { kind: 'endpoint' }))
  await retireAccounts(db, renamed, gone)
  await writeAccountNames(db, after, names, revision.id)
  return { revision, keysChanged: await applyToKeys(db, commit, gone, renamed, nowMs) }
}

function changesOf(before: readonly StoredResource[], after: readonly StoredResource[]): Changed[] {
  const olds = new Map(before.map(resource => [resourceId(resource), resource]))
  const made = new Set(after.map(resourceId))
  return [
    ...after.map(resource => {
      const old = olds.get(resourceId(resource))
      return { ...(old && { before: old }), after: resource }
    }),
    ...before.filter(old => !made.has(resourceId(old))).map(old => ({ before: old })),
  ]
}
