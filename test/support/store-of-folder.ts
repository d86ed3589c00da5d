import { cpSync } from 'node:fs'
import { copyDatabaseOf, databaseOf } from './postgres.ts'
import { TEST_ENGINE } from './test-engine.ts'

/** The URL of the store that commands without `--store` use in a folder. */
export async function storeOfFolder(folder: string): Promise<string> {
  return TEST_ENGINE === 'postgres' ? databaseOf(folder) : `sqlite:${folder}/data/gw.db`
}

/** Copies a folder with its store, which nobody uses. */
export async function copyFolder(from: string, to: string): Promise<void> {
  cpSync(from, to, { recursive: true })
  if (TEST_ENGINE === 'postgres') await copyDatabaseOf(from, to)
}
