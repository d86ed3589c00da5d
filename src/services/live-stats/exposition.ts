/** One sample line of the Prometheus text format. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Keyed by the text of name and labels, which identifies a series. */
export type Samples = ReadonlyMap<string, Sample>

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', '"': '"', '\\': '\\' }

/**
 * Parses the Prometheus text format, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format), in the subset that `/metrics`
 * writes.
 *
 * @param wanted names to keep; histogram buckets have their own name.
 */
export function parseSamples(text: string, wanted: ReadonlySet<string>): Samples {
  const samples = new Map<string, Sample>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [, name, labelText = '', number] = LINE.exec(line) ?? []
    if (name === undefined || !wanted.has(name)) continue
    const labels = Object.fromEntries(
      [...labelText.matchAll(LABEL)].map(([, label = '', value = '']) => [label, unescaped(value)]),
    )
    samples.set(`${name}{${labelText}}`, { name, labels, value: Number(number) })
  }
  return samples
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (whole, character: string) => ESCAPED[character] ?? whole)
}

/**
 * The growth of each counter. A counter that has shrunk belongs to a restarted process, so its full value is new; so
 * is that of a new counter.
 */
export function growth(before: Samples, after: Samples): readonly Sample[] {
  return [...after].map(([series, sample]) => {
    const earlier = before.get(series)?.value ?? 0
    return { ...sample, value: sample.value >= earlier ? sample.value - earlier : sample.value }
  })
}

/**
 * A quantile of a histogram, by linear interpolation inside its bucket, like Prometheus' `histogram_quantile`.
 * Undefined without observations.
 *
 * @param buckets samples with the label `le`, cumulative.
 */
export function quantile(share: number, buckets: readonly Sample[]): number | undefined {
  const counts = new Map<number, number>()
  for (const { labels, value } of buckets) {
    const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le'])
    counts.set(bound, (counts.get(bound) ?? 0) + value)
  }
  const sorted = [...counts].toSorted(([a], [b]) => a - b)
  const total = sorted.at(-1)?.[1] ?? 0
  if (total === 0) return undefined
  const rank = share * total
  let below = 0
  let lower = 0
  for (const [bound, count] of sorted) {
    if (count >= rank && count > below) {
      if (bound === Number.POSITIVE_INFINITY) return lower
      return lower + (bound - lower) * ((rank - below) / (count - below))
    }
    below = count
    lower = bound
  }
  return lower
}
