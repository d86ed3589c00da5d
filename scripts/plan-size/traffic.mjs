/** Rows of recent usage, as a busy month would leave them. */
import Database from 'better-sqlite3'

const QUARTER_MS = 900_000

/** @param rows about so many, half of them of the last day, the rest of the month before. */
export function fillUsage(path, { rows, keys, publications }) {
  const raw = new Database(path)
  const now = Math.floor(Date.now() / QUARTER_MS)
  const insert = raw.prepare(
    `insert or ignore into usage_quarters (key_name, quarter, tenant, publication, endpoint, requests, input_tokens,
       cached_input_tokens, cache_write_tokens, output_tokens, search_units, amount_units, amount_nano, estimated,
       unpriced)
     values (?, ?, ?, ?, ?, ?, ?, 0, 0, ?, 0, 0, 1000000, 0, 0)`,
  )
  raw.transaction(() => {
    for (let at = 0; at < rows; at++) {
      const quarter = now - (at % 2 === 0 ? (at >> 1) % 96 : 96 + ((at >> 1) % (96 * 29)))
      const key = (at * 7_919) % keys
      const model = (at * 104_729) % publications
      insert.run(
        `key-${key}`,
        quarter,
        `t${key % 100}`,
        `vendor${model % 20}/model-${model}`,
        `e${model % 8}`,
        3,
        900,
        600,
      )
    }
  })()
  const count = Number(raw.prepare('select count(*) from usage_quarters').pluck().get())
  raw.close()
  return count
}
