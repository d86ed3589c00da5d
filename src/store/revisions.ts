import type { Kysely, Selectable } from 'kysely'
import { CommandError } from '../base/catalogue/command.ts'
import type { RevisionsTable, Tables } from './tables.ts'
import type { Commit, Counts, Head, Revision } from './types.ts'

const INFO = [
  'id',
  'base',
  'set_name',
  'origin',
  'author',
  'git_commit',
  'restores',
  'created_at_ms',
  'counts',
] as const satisfies (keyof RevisionsTable)[]

export async function selectHead(db: Kysely<Tables>): Promise<Head> {
  const row = await db.selectFrom('head').select(['revision', 'key_version']).executeTakeFirstOrThrow()
  return { revision: row.revision, keyVersion: row.key_version }
}

export async function selectRevisions(
  db: Kysely<Tables>,
  page: { readonly limit?: number; readonly before?: number },
): Promise<Revision[]> {
  let query = db
    .selectFrom('revisions')
    .select(INFO)
    .orderBy('id', 'desc')
    .limit(page.limit ?? 50)
  if (page.before !== undefined) query = query.where('id', '<', page.before)
  return (await query.execute()).map(toRevision)
}

/** @throws {CommandError} not_found */
export async function selectRevision(db: Kysely<Tables>, id: number): Promise<Revision> {
  const row = await db.selectFrom('revisions').select(INFO).where('id', '=', id).executeTakeFirst()
  if (row) return toRevision(row)
  throw noRevision(id)
}

export function noRevision(id: number): CommandError {
  return new CommandError('not_found', `There is no revision ${id}.`, {
    hint: 'Revisions count from 1; `gw history` lists them.',
  })
}

/** The revision is in the history, but retention has deleted its state. */
export function stateNotKept(id: number, statesFrom: number): CommandError {
  return new CommandError('not_found', `The state of revision ${id} is no longer kept.`, {
    hint: `States are kept from revision ${statesFrom} on; \`revisions\` in the settings sets for how long.`,
  })
}

/** Appends the revision that follows `commit.base`. */
export async function insertRevision(db: Kysely<Tables>, commit: Commit, nowMs: number): Promise<Revision> {
  const row = {
    id: commit.base + 1,
    base: commit.base,
    set_name: commit.set ?? null,
    origin: commit.origin,
    author: commit.author ?? null,
    git_commit: commit.gitCommit ?? null,
    restores: commit.restores ?? null,
    created_at_ms: nowMs,
    counts: JSON.stringify(commit.counts),
  }
  await db.insertInto('revisions').values(row).execute()
  return toRevision(row)
}

function toRevision(row: Selectable<RevisionsTable>): Revision {
  return {
    id: row.id,
    base: row.base,
    origin: row.origin,
    createdAtMs: row.created_at_ms,
    counts: JSON.parse(row.counts) as Counts,
    ...(row.set_name !== null && { set: row.set_name }),
    ...(row.author !== null && { author: row.author }),
    ...(row.git_commit !== null && { gitCommit: row.git_commit }),
    ...(row.restores !== null && { restores: row.restores }),
  }
}
