import type { Declaration } from './extract-declarations.ts'
import type { Node, ScalarNode } from './node.ts'
import type { Path } from './path.ts'
import type { Report } from './report.ts'
import { VENDORS } from './vendors/table.ts'

/** Path suffixes that the gateway appends. */
const APPENDED =
  /\/(?:chat\/completions|completions|messages(?:\/count_tokens)?|embeddings|rerank|responses)\/?$/
const ORIGIN = /^https?:\/\/[^/]+/
/** Plausible prices per million tokens are higher, and prices per token are lower. */
const LEAST_PER_MILLION = 0.0005
const PER_MILLION = ['input', 'output', 'cached_input', 'cache_write'] as const

/** Warns about valid values that are probably mistakes: addresses and prices in another format. */
export function checkLikelyMistakes(declarations: readonly Declaration[], report: Report): void {
  for (const { kind, node, path } of declarations) {
    if (kind === 'endpoint') checkBaseUrl(node, [...path, 'base_url'], report)
    if (kind === 'publication') checkPrice(memberOf(node, 'price'), [...path, 'price'], report)
  }
}

function checkBaseUrl(endpoint: Node, path: Path, report: Report): void {
  const node = memberOf(endpoint, 'base_url')
  if (node?.kind !== 'scalar' || typeof node.value !== 'string' || !URL.canParse(node.value)) return
  const url = new URL(node.value)
  const warn = (text: string, hint: string): void =>
    report.add({ code: 'suspicious_base_url', severity: 'warning', span: node.span, path, text, hint })
  const appended = APPENDED.exec(url.pathname)?.[0]
  if (appended !== undefined) {
    const base = url.origin + url.pathname.slice(0, -appended.length)
    warn(`the gateway appends \`${appended.replace(/\/$/, '')}\` itself`, `write \`${base}\``)
    return
  }
  if (url.pathname !== '/') return
  const protocol = memberOf(endpoint, 'protocol')
  const bases = knownBases(url, protocol?.kind === 'scalar' ? protocol.value : undefined)
  if (bases.length === 0 && url.protocol === 'https:') bases.push(`${url.origin}/v1`)
  const [base] = bases
  if (base === undefined || bases.includes(url.origin)) return
  warn('there is no version path', `most servers need one: \`${base}\``)
}

/** The vendor addresses at this origin, or at the usual port of an engine; those of the protocol first. */
function knownBases(url: URL, protocol: unknown): string[] {
  const rows = [...VENDORS.values()].filter(({ kind, baseUrl }) => {
    const known = ORIGIN.exec(baseUrl)?.[0] ?? ''
    if (kind === 'engine') return url.protocol === 'http:' && `:${url.port}` === /:\d+$/.exec(known)?.[0]
    const pattern = known.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^./]+')
    return new RegExp(`^${pattern}$`).test(url.origin)
  })
  const first = rows.filter(row => row.protocol === protocol)
  return [...first, ...rows].map(({ baseUrl }) => baseUrl.replace(ORIGIN, url.origin))
}

function checkPrice(node: Node | undefined, path: Path, report: Report): void {
  if (node?.kind === 'list') {
    for (const [at, each] of node.items.entries()) checkPrice(each, [...path, at], report)
    return
  }
  for (const part of PER_MILLION) {
    const amount = memberOf(node, part)
    const value = amount?.kind === 'scalar' ? numberIn(amount) : undefined
    if (amount === undefined || value === undefined || value <= 0 || value >= LEAST_PER_MILLION) continue
    report.add({
      code: 'suspicious_price',
      severity: 'warning',
      span: amount.span,
      path: [...path, part],
      text: 'a price per million tokens, which looks like one per token',
      hint: `per million it would be ${Number((value * 1_000_000).toPrecision(6))}`,
    })
  }
}

function numberIn({ value }: ScalarNode): number | undefined {
  const number = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

function memberOf(node: Node | undefined, field: string): Node | undefined {
  return node?.kind === 'map' ? node.entries.get(field)?.value : undefined
}
