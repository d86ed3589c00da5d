import type { Kysely } from 'kysely'
import type { MaintenanceSwitch } from '../schema/state.ts'
import type { Tables } from './tables.ts'

/** Undefined while it is off. */
export async function selectMaintenance(db: Kysely<Tables>): Promise<MaintenanceSwitch | undefined> {
  const row = await db.selectFrom('maintenance').selectAll().executeTakeFirst()
  if (!row) return undefined
  return {
    sinceMs: row.since_ms,
    ...(row.message !== null && { message: row.message }),
    ...(row.author !== null && { author: row.author }),
  }
}

/** Switches it on, or changes its message. False if nothing changed. */
export async function putMaintenance(
  db: Kysely<Tables>,
  { message, author, sinceMs }: MaintenanceSwitch,
): Promise<boolean> {
  const before = await selectMaintenance(db)
  if (before && before.message === message) return false
  const row = { message: message ?? null, author: author ?? null }
  await db
    .insertInto('maintenance')
    .values({ id: 1, ...row, since_ms: sinceMs })
    .onConflict(conflict => conflict.column('id').doUpdateSet(row))
    .execute()
  return true
}

/** False if it was off. */
export async function deleteMaintenance(db: Kysely<Tables>): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('maintenance').executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
