/** One sample line of the Prometheus text format. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

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
export function parseSamples(text: string, wanted: ReadonlySet<string>): readonly Sample[] {
  const samples: Sample[] = []
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [, name, labelText = '', number] = LINE.exec(line) ?? []
    if (name === undefined || !wanted.has(name)) continue
    const labels = Object.fromEntries(
      [...labelText.matchAll(LABEL)].map(([, label = '', value = '']) => [label, unescaped(value)]),
    )
    samples.push({ name, labels, value: Number(number) })
  }
  return samples
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (whole, character: string) => ESCAPED[character] ?? whole)
}
