import { setImmediate as others } from 'node:timers/promises'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../tables.ts'
import { QUARTER_MS } from './sums.ts'
import type { Finding } from './types.ts'

/** Quarters of an hour that are compared in one statement: a week of them. */
const SPAN_QUARTERS = 7 * 96

/**
 * Adds settlements up by quarters of an hour and compares them with `usage_quarters`: in a table of the connection,
 * which a reader may have, too, because the quarters of years would not fit in memory; and in steps, because one
 * statement over all of them would hold up its process.
 */
export class QuarterRecount {
  readonly #db: Kysely<Tables>

  static async begin(db: Kysely<Tables>): Promise<QuarterRecount> {
    await sql`drop table if exists temp.recounted`.execute(db)
    await sql`
      create temp table recounted (
        quarter, key_name, tenant, publication, endpoint, requests, input_tokens, cached_input_tokens,
        cache_write_tokens, output_tokens, search_units, amount_units, amount_nano, estimated, unpriced,
        primary key (quarter, key_name, tenant, publication, endpoint)
      ) without rowid`.execute(db)
    return new QuarterRecount(db)
  }

  private constructor(db: Kysely<Tables>) {
    this.#db = db
  }

  /** The settlements among the entries behind `after`, up to and including `upTo`. */
  async add(after: number, upTo: number): Promise<void> {
    await sql`
      insert into temp.recounted
      select at_ms / ${sql.lit(QUARTER_MS)}, key_name, coalesce(tenant, ''), publication, endpoint, count(*),
        sum(input_tokens), sum(cached_input_tokens), sum(cache_write_tokens), sum(output_tokens), sum(search_units),
        sum(amount_nano / 1000000000), sum(amount_nano % 1000000000),
        sum(instr(marks, 'estimated') > 0), sum(instr(marks, 'unpriced') > 0)
      from ledger where kind = 'settle' and id > ${after} and id <= ${upTo} group by 1, 2, 3, 4, 5
      on conflict do update set
        requests = requests + excluded.requests,
        input_tokens = input_tokens + excluded.input_tokens,
        cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
        cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
        output_tokens = output_tokens + excluded.output_tokens,
        search_units = search_units + excluded.search_units,
        amount_units = amount_units + excluded.amount_units,
        amount_nano = amount_nano + excluded.amount_nano,
        estimated = estimated + excluded.estimated,
        unpriced = unpriced + excluded.unpriced`.execute(this.#db)
  }

  /** What differs, at most `limit` of it; nothing can be added behind it. */
  async compare(limit: number, signal?: AbortSignal): Promise<Finding[]> {
    const findings: Finding[] = []
    for (let from = await this.#next(); from !== undefined; from = await this.#next(from + SPAN_QUARTERS)) {
      findings.push(...(await this.#compareSpan(from, limit - findings.length)))
      if (findings.length >= limit) break
      await others()
      signal?.throwIfAborted()
    }
    await sql`drop table temp.recounted`.execute(this.#db)
    return findings
  }

  /** The first quarter of either side, from one on. */
  async #next(from = Number.MIN_SAFE_INTEGER): Promise<number | undefined> {
    const { rows } = await sql<{ quarter: number | null }>`
      select min(quarter) as quarter from (
        select min(quarter) as quarter from temp.recounted where quarter >= ${from}
        union all select min(quarter) from main.usage_quarters where quarter >= ${from}
      )`.execute(this.#db)
    return rows[0]?.quarter ?? undefined
  }

  async #compareSpan(from: number, limit: number): Promise<Finding[]> {
    const { rows } = await sql<{ row: string; kept: string | null; added: string | null }>`
      with kept as (${described('main.usage_quarters', from)}), added as (${described('temp.recounted', from)})
      select coalesce(kept.key_name, added.key_name) || ', ' || coalesce(kept.publication, added.publication)
        || ', ' || coalesce(kept.endpoint, added.endpoint) || ', quarter '
        || strftime('%Y-%m-%dT%H:%MZ', coalesce(kept.quarter, added.quarter) * 900, 'unixepoch') as row,
        kept.line as kept, added.line as added
      from kept full join added using (key_name, quarter, tenant, publication, endpoint)
      where kept.line is not added.line limit ${limit}`.execute(this.#db)
    return rows.map(({ row, kept, added }) => ({
      table: 'usage_quarters',
      row,
      problem: `has ${kept ?? 'nothing'}, but the entries come to ${added ?? 'nothing'}`,
    }))
  }
}

/** Each row of a span as a line of text, with its amount in one way of writing it. */
function described(table: 'main.usage_quarters' | 'temp.recounted', from: number): RawBuilder<unknown> {
  return sql`
    select key_name, quarter, tenant, publication, endpoint, requests || ' requests, ' || input_tokens || '/'
      || cached_input_tokens || '/' || cache_write_tokens || '/' || output_tokens || ' tokens, ' || search_units
      || ' search units, ' || (amount_units + amount_nano / 1000000000) || ' + ' || (amount_nano % 1000000000)
      || ' nano, ' || estimated || ' estimated, ' || unpriced || ' unpriced' as line
    from ${sql.raw(table)} where quarter >= ${from} and quarter < ${from + SPAN_QUARTERS}`
}
