import type { SharedLimit } from '../../../schema/shares.ts'
import { type PlainSql, prepare } from '../../engine.ts'
import { toNano } from '../../ledger/columns.ts'
import { QUARTER_MS } from '../../ledger/usage-sums.ts'
import { usageOf } from '../../shares/rules.ts'
import { type ScopeRow, toScopeState } from '../../shares/scope-row.ts'
import { NOW_MS } from './clock-of-store.ts'

const SELECT = `
  select owner, limit_name as "limit", kind, bound::text as bound, per_minute::text as per_minute, revision, since_ms,
    level::text as level, at_ms, leased::text as leased, wanted::text as wanted, ${NOW_MS} as now_ms,
    t.tokens::text as tokens, t.amount_units::text as units, t.amount_nano::text as nano, w.units::text as window_units,
    w.nano::text as window_nano, b.balance_units::text as balance_units, b.balance_nano::text as balance_nano
  from scopes s
  left join key_totals t on owner like 'key %' and t.key_name = substr(owner, 5)
  left join wallets b on owner like 'tenant %' and b.tenant = substr(owner, 8)
  left join lateral (
    select sum(amount_units) as units, sum(amount_nano) as nano from usage_quarters
    where owner like 'key %' and key_name = substr(owner, 5) and quarter >= since_ms / ${QUARTER_MS}) w on true
  where owner in (select json_array_elements_text(cast(? as json)))
  order by 1, 2`

interface Row extends ScopeRow {
  readonly owner: string
  readonly limit: string
  readonly now_ms: number
  readonly tokens: string | null
  readonly units: string | null
  readonly nano: string | null
  readonly window_units: string | null
  readonly window_nano: string | null
  readonly balance_units: string | null
  readonly balance_nano: string | null
}

/** What all gateways use of the limits of these owners, such as `key crm`. */
export async function sharedLimits(
  raw: PlainSql,
  owners: readonly string[],
): Promise<readonly SharedLimit[]> {
  const rows = await prepare<[string], Row>(raw, SELECT).all(JSON.stringify(owners))
  return rows.map(row => {
    const { owner, limit, kind } = row
    const spent = kind === 'sum' ? spentOf(row) : 0n
    return { scope: { owner, limit }, ...usageOf(toScopeState(row), spent, row.now_ms) }
  })
}

function spentOf(row: Row): bigint {
  if (row.limit === 'balance') return -toNano({ units: row.balance_units, nano: row.balance_nano })
  if (row.since_ms > 0) return toNano({ units: row.window_units, nano: row.window_nano })
  return row.limit === 'quota' ? BigInt(row.tokens ?? 0) : toNano(row)
}
