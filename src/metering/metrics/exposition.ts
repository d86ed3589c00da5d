import type { MetricEntry } from './catalogue.ts'

/**
 * The text format of Prometheus, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format).
 */

/** `# HELP` and `# TYPE`, the head of a family. */
export function familyHead(name: string, { help, type }: MetricEntry): string {
  return `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`
}

/** `path="/v1/messages",model="a\"b"`. @param pairs Names and values alternate. */
export function labelText(...pairs: readonly string[]): string {
  const parts: string[] = []
  for (let index = 0; index + 1 < pairs.length; index += 2) {
    const value = pairs[index + 1] ?? ''
    parts.push(
      `${pairs[index]}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`,
    )
  }
  return parts.join(',')
}

/** `name{labels} value`, as one line. `labels` is {@link labelText}'s, and not empty. */
export function sample(name: string, labels: string, value: number | string): string {
  return `${name}{${labels}} ${value}\n`
}

/** A histogram in plain numbers: an observation costs a search through a few bounds. */
export class Buckets {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe(value: number): void {
    const bounds = this.#bounds
    let index = 0
    while (index < bounds.length && value > (bounds[index] as number)) index++
    ;(this.#counts[index] as number)++
    this.#sum += value
  }

  /** Adds the cumulative counts to `sums`, by the text of their bounds. */
  addTo(sums: Record<string, number>): void {
    let count = 0
    for (let index = 0; index < this.#counts.length; index++) {
      count += this.#counts[index] as number
      const bound = this.#bounds[index] ?? '+Inf'
      sums[bound] = (sums[bound] ?? 0) + count
    }
  }

  /** All lines of one series of a histogram. */
  lines(name: string, labels: string): string {
    let count = 0
    let text = ''
    for (let index = 0; index < this.#counts.length; index++) {
      count += this.#counts[index] as number
      text += `${name}_bucket{${labels},le="${this.#bounds[index] ?? '+Inf'}"} ${count}\n`
    }
    return `${text}${name}_sum{${labels}} ${this.#sum}\n${name}_count{${labels}} ${count}\n`
  }
}
