/** One sample of the text format. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Scraped {
  /** By family: its type and samples, in their order. */
  readonly families: ReadonlyMap<string, { readonly type: string; readonly samples: readonly Sample[] }>
  /** The value of the one sample that has this name and at least these labels; undefined where there is none. */
  readonly value: (name: string, labels?: Readonly<Record<string, string>>) => number | undefined
  readonly samples: readonly Sample[]
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/s
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/gsy
const ESCAPES: Readonly<Record<string, string>> = { '\\\\': '\\', '\\"': '"', '\\n': '\n' }

/** Reads the text format of Prometheus strictly: whatever is not as the format has it throws. */
export function readScrape(text: string): Scraped {
  const families = new Map<string, { type: string; samples: Sample[] }>()
  const samples: Sample[] = []
  let family: { name: string; samples: Sample[] } | undefined
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '' || line.startsWith('# HELP ')) continue
    const [, declared, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
    if (declared !== undefined && type !== undefined) {
      if (families.has(declared)) throw new Error(`${declared} is there twice`)
      const entry = { type, samples: [] }
      families.set(declared, entry)
      family = { name: declared, samples: entry.samples }
      continue
    }
    const [, name = '', labels = '', number = ''] = LINE.exec(line) ?? []
    if (!family || ![name, name.replace(/_(bucket|sum|count)$/, '')].includes(family.name))
      throw new Error(`out of place: ${line}`)
    const sample = { name, labels: readLabels(labels), value: number === '+Inf' ? Infinity : Number(number) }
    if (Number.isNaN(sample.value)) throw new Error(`no number: ${line}`)
    family.samples.push(sample)
    samples.push(sample)
  }
  const seen = new Set(samples.map(({ name, labels }) => `${name} ${labelText(labels)}`))
  if (seen.size !== samples.length) throw new Error('a series is there twice')
  return {
    families,
    samples,
    value(name, labels = {}) {
      const wanted = Object.entries(labels)
      const found = samples.filter(
        sample => sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value),
      )
      if (found.length > 1) throw new Error(`${found.length} series fit ${name} ${JSON.stringify(labels)}`)
      return found[0]?.value
    },
  }
}

function labelText(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)))
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {}
  let end = 0
  for (const match of text.matchAll(LABEL)) {
    const [whole, name = '', value = ''] = match
    labels[name] = value.replaceAll(/\\./gs, escaped => ESCAPES[escaped] ?? escaped)
    end = match.index + whole.length
  }
  if (end !== text.length) throw new Error(`no labels: ${text}`)
  return labels
}
