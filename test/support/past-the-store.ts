import Database from 'better-sqlite3'
import pg from 'pg'
import { isPostgresUrl } from '../../src/store/url.ts'

/** Statements past the store, as a person with a database client would run them. @param at the URL of a store, or the path of its file */
export async function execute(at: string, sql: string): Promise<void> {
  if (isPostgresUrl(at)) await withClient(at, client => client.query(sql))
  else
    withFile(at, raw => {
      raw.pragma('foreign_keys = on')
      raw.exec(sql)
    })
}

export async function select<Row>(at: string, sql: string): Promise<Row[]> {
  const [rows] = await selectAtOnce(at, sql)
  return rows as Row[]
}

/** What several queries find in one moment. */
export async function selectAtOnce(at: string, ...queries: readonly string[]): Promise<unknown[][]> {
  if (!isPostgresUrl(at))
    return withFile(at, raw => raw.transaction(() => queries.map(sql => raw.prepare(sql).all()))())
  return withClient(at, async client => {
    await client.query('start transaction isolation level repeatable read read only')
    const found: unknown[][] = []
    for (const sql of queries) found.push((await client.query(sql)).rows)
    return found
  })
}

function withFile<T>(at: string, work: (raw: Database.Database) => T): T {
  const raw = new Database(at.replace(/^sqlite:/, ''), { fileMustExist: true })
  try {
    return work(raw)
  } finally {
    raw.close()
  }
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
