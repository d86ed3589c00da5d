/** One line of what Prometheus reads. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** By the text of name and labels, which names a series. */
export type Samples = ReadonlyMap<string, Sample>

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', '"': '"', '\\': '\\' }

/**
 * Reads the text format of Prometheus, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format), as far as `/metrics` writes it.
 *
 * @param wanted names to keep; buckets of a histogram count under their own name.
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
 * How much each counter has grown. One that has shrunk belongs to a process that began anew, so all of it is new; one
 * that was not there before is new as well.
 */
export function growth(before: Samples, after: Samples): readonly Sample[] {
  return [...after].map(([series, sample]) => {
    const earlier = before.get(series)?.value ?? 0
    return { ...sample, value: sample.value >= earlier ? sample.value - earlier : sample.value }
  })
}

/**
 * The value below which a share of the observations of a histogram lie, by linear interpolation inside its bucket, as
 * Prometheus' `histogram_quantile` has it. Undefined where there are none.
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
