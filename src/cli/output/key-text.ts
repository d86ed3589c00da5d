import { formatNano } from '../../base/decimal.ts'
import { iso } from '../../base/iso.ts'
import type { Json } from '../../schema/kinds.ts'
import { rateText, type WrittenRate } from '../../schema/limits.ts'
import type { KeyState, KeyView } from '../../services/changes/types.ts'
import type { KeySpend } from '../../services/keys.ts'
import { printable, type Style } from './style.ts'
import { type Column, table } from './table.ts'

const STATES: Record<KeyState, string> = {
  active: 'active',
  disabled: 'disabled',
  held: 'disabled manually',
  expired: 'expired',
  no_secret: 'no secret',
}

const EXPIRES: Column<KeyView> = {
  title: 'EXPIRES',
  cell: ({ expiresAtMs: ms }) => (ms === undefined ? '-' : day(ms)),
}

/** Keys as a table, one a line. On a narrow terminal columns are dropped from the right. */
export function keysToText(
  keys: readonly KeyView[],
  nowMs: number,
  style: Style,
  width: number | undefined,
  { withExpiry = false }: { readonly withExpiry?: boolean } = {},
): string {
  const columns: Column<KeyView>[] = [
    { title: 'NAME', cell: key => key.name, narrowest: 16 },
    { title: 'STATE', cell: key => STATES[key.state] },
    { title: 'TENANT', cell: key => key.tenant ?? '-', narrowest: 8 },
    { title: 'MODELS', cell: key => key.models.join(','), narrowest: 8 },
    ...(withExpiry ? [EXPIRES] : []),
    { title: 'QUOTA', cell: key => String(key.quota ?? '-'), dispensable: true },
    { title: 'BUDGET', cell: budgetCell, dispensable: true },
    ...(withExpiry ? [] : [{ ...EXPIRES, dispensable: true } as const]),
    { title: 'LIMITS', cell: key => limitsText(key) || '-', narrowest: 8, dispensable: true },
    { title: 'KIND', cell: key => key.kind, dispensable: true },
    { title: 'SECRET', cell: key => secretAge(key, nowMs), dispensable: true },
    { title: 'CREATED', cell: key => day(key.createdAtMs), dispensable: true },
  ]
  return table(columns, keys, style, width)
}

/** One key, one field per line; unset fields are left out. */
export function keyToText(key: KeyView, style: Style, spend?: KeySpend): string {
  const { budget, place } = key
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['name', key.name],
    ['display name', key.displayName],
    ['state', stateText(key)],
    ['kind', key.kind],
    ['tenant', key.tenant],
    ['models', key.models.join(', ')],
    ['limits', limitsText(key) || undefined],
    ['quota', key.quota === undefined ? undefined : `${key.quota} tokens`],
    ['budget', budget && `${formatNano(budget.amountNano)} per ${budget.per} (${budget.timezone})`],
    ['spent', spend && spendText(spend)],
    ['expires', key.expiresAtMs === undefined ? undefined : iso(key.expiresAtMs)],
    ['secret', secretText(key)],
    ['created', iso(key.createdAtMs)],
    ['managed by', key.owner === 'config' ? `config, set ${key.set ?? 'default'}` : key.owner],
    ['declared at', place && `${place.file}:${place.line}`],
  ]
  const shown = fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${style.strong(name.padEnd(width))}  ${printable(value)}\n`).join('')
}

export function keyToJson(key: KeyView, spend?: KeySpend): Json {
  const { budget, place } = key
  return present({
    name: key.name,
    display_name: key.displayName,
    state: key.state,
    kind: key.kind,
    tenant: key.tenant,
    models: key.models,
    limits: present({
      rpm: rateJson(key.limits.rpm),
      tpm: rateJson(key.limits.tpm),
      concurrency: key.limits.concurrency,
    }),
    quota: key.quota,
    budget: budget && { amount: formatNano(budget.amountNano), per: budget.per, timezone: budget.timezone },
    spend:
      spend &&
      present({
        tokens: spend.tokens,
        amount: formatNano(spend.amountNano),
        in_budget: spend.windowNano === undefined ? undefined : formatNano(spend.windowNano),
        currency: spend.currency,
      }),
    expires_at: key.expiresAtMs === undefined ? undefined : iso(key.expiresAtMs),
    suspended_at: key.suspendedAtMs === undefined ? undefined : iso(key.suspendedAtMs),
    secret: present({
      source: key.secretSource,
      created_at: key.secretCreatedAtMs === undefined ? undefined : iso(key.secretCreatedAtMs),
      active: key.activeSecrets,
    }),
    created_at: iso(key.createdAtMs),
    owner: key.owner,
    set: key.set,
    file: place?.file,
    line: place?.line,
  })
}

/** As in the configuration file. */
function rateJson(written: WrittenRate | undefined): Json | undefined {
  if (typeof written !== 'object') return written
  return present({ limit: written.limit, burst: written.burst })
}

function stateText(key: KeyView): string {
  const texts: Record<KeyState, string> = {
    active: 'active',
    disabled: 'disabled in its configuration',
    held: `disabled by \`gw keys disable\`${key.suspendedAtMs === undefined ? '' : ` since ${iso(key.suspendedAtMs)}`}`,
    expired: 'expired',
    no_secret: `no secret yet: \`gw keys issue ${key.name}\``,
  }
  return texts[key.state]
}

function budgetCell({ budget }: KeyView): string {
  return budget ? `${formatNano(budget.amountNano)}/${budget.per}` : '-'
}

function spendText({ tokens, amountNano, windowNano, currency }: KeySpend): string {
  const life = `${tokens} tokens, ${formatNano(amountNano)} ${currency}`
  return windowNano === undefined ? life : `${life}; of the budget ${formatNano(windowNano)} ${currency}`
}

function limitsText({ limits }: KeyView): string {
  return [
    limits.rpm !== undefined && `${rateText(limits.rpm)} rpm`,
    limits.tpm !== undefined && `${rateText(limits.tpm)} tpm`,
    limits.concurrency !== undefined && `${limits.concurrency} at a time`,
  ]
    .filter(part => part !== false)
    .join(', ')
}

/** In a table: `3d`, `3d +1` with an older one in its grace period, or its source if it was not issued. */
function secretAge(key: KeyView, nowMs: number): string {
  if (key.secretCreatedAtMs === undefined) return key.secretSource ?? '-'
  const more = key.activeSecrets > 1 ? ` +${key.activeSecrets - 1}` : ''
  return ageText(nowMs - key.secretCreatedAtMs) + more
}

function secretText({ secretSource, secretCreatedAtMs, activeSecrets }: KeyView): string | undefined {
  if (secretSource === undefined) return undefined
  if (secretSource !== 'issued') return `from the configuration, as a ${secretSource}`
  if (secretCreatedAtMs === undefined) return 'issued, and expired'
  const more = activeSecrets > 1 ? `, and ${activeSecrets - 1} older in grace` : ''
  return `issued ${iso(secretCreatedAtMs)}${more}`
}

/** An age in its largest unit, rounded down: `3d`, `5h`, `2m`, `0m`. */
function ageText(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes < 60) return `${minutes}m`
  if (minutes < 1_440) return `${Math.floor(minutes / 60)}h`
  return `${Math.floor(minutes / 1_440)}d`
}

function day(ms: number): string {
  return iso(ms).slice(0, 10)
}

/** Drops undefined fields: in JSON absent and null differ, and these are absent. */
function present(fields: { readonly [name: string]: Json | undefined }): { readonly [name: string]: Json } {
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, Json] => field[1] !== undefined),
  )
}
