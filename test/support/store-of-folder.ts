import { databaseOf } from './postgres.ts'
import { TEST_ENGINE } from './test-engine.ts'

/** The URL of the store that commands without `--store` use in a folder. */
export async function storeOfFolder(folder: string): Promise<string> {
  return TEST_ENGINE === 'postgres' ? databaseOf(folder) : `sqlite:${folder}/data/gw.db`
}
