import { pluralize } from '../../base/pluralize.ts'
import { formatDurationMs } from '../../base/units.ts'
import { isMoney } from '../../services/changes/blast/limits.ts'
import { moveText } from '../../services/changes/blast/prices.ts'
import type {
  AccessChange,
  BlastRadius,
  Ending,
  LoweredLimit,
  NodeMove,
  PathLoss,
  PriceMove,
} from '../../services/changes/blast/types.ts'
import { moneyText } from './money-text.ts'
import { printable, type Style } from './style.ts'

/** At most so many names in a line and lines of a kind; the rest is a count. JSON has them all. */
const NAMES = 3
const LINES = 12
const MINUTE_MS = 60_000

/**
 * The effect of a plan on callers, the worst first; empty if there is none.
 *
 *     key app loses fast-chat
 *     12 keys (a1, a2, a3 and 9 more) lose gpt-4o and gain o3
 *     publication chat is left without a usable endpoint: calls will answer 503
 *     publication chat is no longer served at /v1/responses
 *     endpoint qwen matches 2 nodes now (gpu-1, gpu-2); loses gpu-7: 1204 requests in the last 24 h
 *     endpoint slow goes away: 1204 requests, 88120 tokens, 3.2 EUR in the last 24 h
 */
export function radiusToText(radius: BlastRadius, style: Style): string {
  const { endings, currency, atMs } = radius
  const used = endings.filter(({ lastUsedAtMs }) => lastUsedAtMs !== undefined)
  const unused = endings.filter(({ lastUsedAtMs }) => lastUsedAtMs === undefined)
  const lines = [
    ...folded(radius.access.map(change => accessText(change, style))),
    ...folded(
      radius.unserved.map(
        name =>
          `publication ${printable(name)} ${style.removed('is left without a usable endpoint')}: calls will answer 503`,
      ),
    ),
    ...folded(radius.paths.map(loss => pathsText(loss, style))),
    ...folded(radius.nodes.map(move => nodesText(move, style))),
    ...folded(used.map(ending => endingText(ending, currency, atMs, style))),
    ...folded(unusedText(unused)),
    ...folded(radius.limits.map(limit => limitText(limit, currency, style))),
    ...folded(pricesText(radius.prices)),
  ]
  return lines.length === 0
    ? ''
    : [style.strong('Blast radius:'), ...lines.map(line => `    ${line}`)].join('\n')
}

export function accessText({ keys, loses, gains, losesAll }: AccessChange, style: Style): string {
  const one = keys.length === 1
  const who = one ? `key ${printable(keys[0] ?? '')}` : `${keys.length} keys (${names(keys)})`
  const lost = losesAll ? `every model (${names(loses)})` : names(loses)
  const parts = [
    loses.length > 0 && `${style.removed(one ? 'loses' : 'lose')} ${lost}`,
    gains.length > 0 && `${style.added(one ? 'gains' : 'gain')} ${names(gains)}`,
  ]
  return `${who} ${parts.filter(part => part !== false).join(' and ')}`
}

function pathsText({ publication, loses }: PathLoss, style: Style): string {
  return `publication ${printable(publication)} ${style.removed('is no longer served')} at ${names(loses)}`
}

function nodesText({ endpoint, matches, gains, loses }: NodeMove, style: Style): string {
  const now =
    matches.length === 0
      ? 'matches no connected node'
      : `matches ${pluralize(matches.length, 'node')} now (${names(matches)})`
  const lost = loses.map(
    ({ node, requests }) =>
      `${printable(node)}: ${requests === 0 ? 'no request' : pluralize(requests, 'request')} in the last 24 h`,
  )
  const rest = lost.length - NAMES
  const parts = [
    now,
    lost.length > 0 && `${style.removed('loses')} ${lost.slice(0, NAMES).join(', ')}`,
    rest > 0 && `and ${rest} more`,
    gains.length > 0 && `${style.added('gains')} ${names(gains)}`,
  ]
  return `endpoint ${printable(endpoint)} ${parts.filter(part => part !== false).join('; ')}`
}

function endingText(
  { kind, name, how, day, lastUsedAtMs = 0 }: Ending,
  currency: string,
  nowMs: number,
  style: Style,
) {
  const what = how === 'deleted' ? 'goes away' : 'is switched off'
  const ago = `last used ${agoText(nowMs - lastUsedAtMs)}`
  if (day.requests === 0) return `${subjectText({ kind, name })} ${what}: ${ago}`
  const { requests, tokens, amountNano } = day
  const traffic = `${pluralize(requests, 'request')}, ${tokens} tokens, ${moneyText(amountNano, currency)} in the last 24 h`
  return `${subjectText({ kind, name })} ${style.removed(what)}: ${traffic}, ${ago}`
}

/** Grouped by kind and reason, because single ones do not matter. */
function unusedText(unused: readonly Ending[]): string[] {
  const groups = new Map<string, Ending[]>()
  for (const ending of unused) {
    const id = `${ending.kind} ${ending.how}`
    groups.set(id, [...(groups.get(id) ?? []), ending])
  }
  return [...groups.values()].map(group => {
    const [first] = group
    if (!first) return ''
    const one = group.length === 1
    const who = one
      ? subjectText(first)
      : `${group.length} ${first.kind}s (${names(group.map(({ name }) => name.replace(' ', ' → ')))})`
    const what =
      first.how === 'deleted' ? (one ? 'goes away' : 'go away') : one ? 'is switched off' : 'are switched off'
    return `${who} ${what}: no billed call ${first.kind === 'binding' ? 'in the last 24 h' : 'in the last 30 days'}`
  })
}

function limitText(lowered: LoweredLimit, currency: string, style: Style): string {
  const { kind, name, limit, before, after, used } = lowered
  const amount = (value: bigint) => (isMoney(lowered) ? moneyText(value, currency) : String(value))
  const from = before === undefined ? '(none)' : amount(before)
  const why = {
    rpm: `below the ${used} requests a minute of its busiest quarter of an hour in the last 24 h`,
    tpm: `below the ${used} tokens a minute of its busiest quarter of an hour in the last 24 h`,
    quota: `which is used up: ${used} tokens were used`,
    budget: `which is spent: ${amount(used)} were spent`,
    balance: `which covers no call: ${amount(used)} were spent in the last 24 h; \`gw wallet credit ${printable(name)} AMOUNT --reference ID\` adds to it`,
  }[limit]
  return `${kind} ${printable(name)}: ${limit} ${from} → ${amount(after)}, ${style.removed(why)}`
}

function pricesText(moves: readonly PriceMove[]): string[] {
  const byPublication = new Map<string, string[]>()
  for (const move of moves) {
    byPublication.set(move.publication, [...(byPublication.get(move.publication) ?? []), moveText(move)])
  }
  return [...byPublication].map(([name, words]) => `price of ${printable(name)}: ${words.join(', ')}`)
}

function folded(lines: readonly string[]): string[] {
  if (lines.length <= LINES) return [...lines]
  return [...lines.slice(0, LINES - 1), `and ${lines.length - LINES + 1} more of these`]
}

/** `a, b, c and 9 more` */
function names(all: readonly string[]): string {
  const shown = all.length <= NAMES + 1 ? all : all.slice(0, NAMES)
  const rest = all.length - shown.length
  return shown.map(printable).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

/** `publication gpt-4o`, `binding gpt-4o → openai`, or `settings`, which exists once. */
export function subjectText(resource: { readonly kind: string; readonly name: string }): string {
  if (resource.kind === resource.name) return resource.kind
  const name = resource.kind === 'binding' ? resource.name.replace(' ', ' → ') : resource.name
  return printable(`${resource.kind} ${name}`)
}

function agoText(ms: number): string {
  const minutes = Math.max(1, Math.floor(ms / MINUTE_MS))
  if (minutes < 60) return 'within the last hour'
  const hours = Math.floor(minutes / 60)
  return `${formatDurationMs(hours < 48 ? hours * 3_600_000 : Math.floor(hours / 24) * 86_400_000)} ago`
}
