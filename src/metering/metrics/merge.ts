import { labelText } from './exposition.ts'

/** The metrics of one process, in the text format. */
export interface LabelledMetrics {
  readonly worker: string
  readonly text: string
}

const HELP = '# HELP '

/** One text for several processes: each family once, and each sample with the label of its process. */
export function mergeMetrics(all: readonly LabelledMetrics[]): string {
  const families = new Map<string, { readonly head: string; samples: string }>()
  for (const { worker, text } of all) {
    const label = labelText('worker', worker)
    for (const part of `\n${text}`.split(`\n${HELP}`).slice(1)) {
      const [help = '', type = '', ...lines] = part.split('\n')
      const name = help.slice(0, help.indexOf(' '))
      const family = families.get(name) ?? { head: `${HELP}${help}\n${type}\n`, samples: '' }
      for (const line of lines) if (line !== '') family.samples += `${withLabel(line, label)}\n`
      families.set(name, family)
    }
  }
  return [...families.values()].map(({ head, samples }) => head + samples).join('')
}

/** The name of a metric has neither brace nor space. */
function withLabel(line: string, label: string): string {
  const end = line.search(/[{ ]/)
  const name = line.slice(0, end)
  return line[end] === '{' ? `${name}{${label},${line.slice(end + 1)}` : `${name}{${label}}${line.slice(end)}`
}
