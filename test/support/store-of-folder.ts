import { cpSync } from 'node:fs'
import { copyDatabaseOf, databaseOf } from './postgres.ts'
import { ON_POSTGRES } from './test-engine.ts'

/**
 * The URL of the store of a folder, by default the one that commands without `--store` use there. On PostgreSQL each folder has one
 * database, whatever the name of the file.
 */
export async function storeOfFolder(folder: string, file = 'data/gw.db'): Promise<string> {
  return ON_POSTGRES ? databaseOf(folder) : `sqlite:${folder}/${file}`
}

/** Copies a folder with its store, which is not in use. */
export async function copyFolder(from: string, to: string): Promise<void> {
  cpSync(from, to, { recursive: true })
  if (ON_POSTGRES) await copyDatabaseOf(from, to)
}
