/** What of a request does not go through a gateway, or is made anew there (spec/wire.md §5). */
const BETWEEN_NEIGHBOURS = new Set([
  'host',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'accept-encoding',
  'content-length',
  'authorization',
  'x-api-key',
  'cookie',
])

/** The header lines that both sides of a gateway have in common: their names, letter case, values and order. */
export function endToEnd(lines: readonly (readonly [string, string])[]): string[] {
  return lines
    .filter(([name]) => !BETWEEN_NEIGHBOURS.has(name.toLowerCase()))
    .map(([name, value]) => `${name}: ${value}`)
}
