import { concurrencyOf, isShadow, type Moded, quotaOf, rateText } from '../../schema/limits.ts'
import type { KeyShown } from '../../services/keys.ts'
import { printable, type Style } from './style.ts'
import { type Column, table } from './table.ts'

const STATES: Record<KeyShown['state'], string> = {
  active: 'active',
  disabled: 'disabled',
  suspended: 'disabled manually',
  expired: 'expired',
  no_secret: 'no secret',
}

const EXPIRES: Column<KeyShown> = {
  title: 'EXPIRES',
  cell: ({ expires_at: at }) => (at === undefined ? '-' : day(at)),
}

/** Keys as a table, one a line. On a narrow terminal columns are dropped from the right. */
export function keysToText(
  keys: readonly KeyShown[],
  nowMs: number,
  style: Style,
  width: number | undefined,
  { withExpiry = false }: { readonly withExpiry?: boolean } = {},
): string {
  const columns: Column<KeyShown>[] = [
    { title: 'NAME', cell: key => key.name, narrowest: 16 },
    { title: 'STATE', cell: key => STATES[key.state] },
    { title: 'TENANT', cell: key => key.tenant ?? '-', narrowest: 8 },
    { title: 'MODELS', cell: key => key.models.join(','), narrowest: 8 },
    ...(withExpiry ? [EXPIRES] : []),
    {
      title: 'QUOTA',
      cell: key => (key.quota === undefined ? '-' : `${quotaOf(key.quota)}${shadowText(key.quota)}`),
      dispensable: true,
    },
    { title: 'BUDGET', cell: budgetCell, dispensable: true },
    ...(withExpiry ? [] : [{ ...EXPIRES, dispensable: true } as const]),
    { title: 'LIMITS', cell: key => limitsText(key) || '-', narrowest: 8, dispensable: true },
    { title: 'KIND', cell: key => key.kind, dispensable: true },
    { title: 'SECRET', cell: key => secretAge(key, nowMs), dispensable: true },
    { title: 'CREATED', cell: key => day(key.created_at), dispensable: true },
  ]
  return table(columns, keys, style, width)
}

/** One key, one field per line; unset fields are left out. */
export function keyToText(key: KeyShown, style: Style): string {
  const { budget, spend } = key
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['name', key.name],
    ['display name', key.display_name],
    ['state', stateText(key)],
    ['kind', key.kind],
    ['tenant', key.tenant],
    ['models', key.models.join(', ')],
    ['limits', limitsText(key) || undefined],
    ['quota', key.quota === undefined ? undefined : `${quotaOf(key.quota)} tokens${shadowText(key.quota)}`],
    ['budget', budget && `${budget.amount} per ${budget.per} (${budget.timezone})${shadowText(budget)}`],
    ['spent', spend && spendText(spend)],
    ['expires', key.expires_at],
    ['secret', secretText(key)],
    ['created', key.created_at],
    ['managed by', key.owner === 'config' ? `config, set ${key.set ?? 'default'}` : key.owner],
    ['declared at', key.file && `${key.file}:${key.line}`],
  ]
  const shown = fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${style.strong(name.padEnd(width))}  ${printable(value)}\n`).join('')
}

function stateText(key: KeyShown): string {
  const texts: Record<KeyShown['state'], string> = {
    active: 'active',
    disabled: 'disabled in its configuration',
    suspended: `disabled by \`gw keys disable\`${key.suspended_at === undefined ? '' : ` since ${key.suspended_at}`}`,
    expired: 'expired',
    no_secret: `no secret yet: \`gw keys issue ${key.name}\``,
  }
  return texts[key.state]
}

function budgetCell({ budget }: KeyShown): string {
  return budget ? `${budget.amount}/${budget.per}${shadowText(budget)}` : '-'
}

function spendText({
  tokens,
  amount,
  in_budget: inBudget,
  currency,
}: NonNullable<KeyShown['spend']>): string {
  const life = `${tokens} tokens, ${amount} ${currency}`
  return inBudget === undefined ? life : `${life}; of the budget ${inBudget} ${currency}`
}

function limitsText({ limits }: KeyShown): string {
  return [
    limits.rpm !== undefined && `${rateText(limits.rpm)} rpm${shadowText(limits.rpm)}`,
    limits.tpm !== undefined && `${rateText(limits.tpm)} tpm${shadowText(limits.tpm)}`,
    limits.concurrency !== undefined &&
      `${concurrencyOf(limits.concurrency)} at a time${shadowText(limits.concurrency)}`,
  ]
    .filter(part => part !== false)
    .join(', ')
}

function shadowText(limit: number | Moded): string {
  return isShadow(limit) ? ' (shadow)' : ''
}

/** In a table: `3d`, `3d +1` with an older one in its grace period, or its source if it was not issued. */
function secretAge({ secret }: KeyShown, nowMs: number): string {
  if (secret.created_at === undefined) return secret.source ?? '-'
  const more = secret.active > 1 ? ` +${secret.active - 1}` : ''
  return ageText(nowMs - Date.parse(secret.created_at)) + more
}

function secretText({ secret: { source, created_at: createdAt, active } }: KeyShown): string | undefined {
  if (source === undefined) return undefined
  if (source !== 'issued') return `from the configuration, as a ${source}`
  if (createdAt === undefined) return 'issued, and expired'
  const more = active > 1 ? `, and ${active - 1} older in grace` : ''
  return `issued ${createdAt}${more}`
}

/** An age in its largest unit, rounded down: `3d`, `5h`, `2m`, `0m`. */
function ageText(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes < 60) return `${minutes}m`
  if (minutes < 1_440) return `${Math.floor(minutes / 60)}h`
  return `${Math.floor(minutes / 1_440)}d`
}

function day(at: string): string {
  return at.slice(0, 10)
}
