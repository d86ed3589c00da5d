/** Names and values, one a line: `name: value`. */
export function pairsIn(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').filter(line => line.trim() !== '')
  return Object.fromEntries(
    lines.map(line => [line.split(':')[0]?.trim() ?? '', line.split(':').slice(1).join(':').trim()]),
  )
}
