import type { Registry } from 'prom-client'
import { METRICS, type PROCESS_METRICS, type STATE_METRICS } from './catalogue.ts'
import { Counter, Gauge, Histogram } from './prom-client.ts'

/** The metrics in prom-client: those that are read at a scrape, or observed about once a second. */
export type KeptName = keyof typeof STATE_METRICS | keyof typeof PROCESS_METRICS

/** Creates instruments from the catalogue, in one registry. */
export class Instruments {
  readonly #registry: Registry

  constructor(registry: Registry) {
    this.#registry = registry
  }

  /** Read at each scrape. An undefined value is omitted. */
  gauge(name: KeptName, read: () => number | undefined | Promise<number | undefined>): void {
    this.#keep(
      new Gauge({
        ...this.#described(name),
        async collect() {
          const value = await read()
          this.reset()
          if (value === undefined) this.remove()
          else this.set(value)
        },
      }),
    )
  }

  /** One series for each set of labels. */
  gauges(
    name: KeptName,
    read: () => Iterable<readonly [labels: Readonly<Record<string, string>>, number: number]>,
  ): void {
    this.#keep(
      new Gauge({
        ...this.#described(name),
        collect() {
          this.reset()
          for (const [labels, number] of read()) this.set(labels, number)
        },
      }),
    )
  }

  /** A sum that is maintained elsewhere, and read at each scrape. */
  counter(name: KeptName, read: () => number): void {
    this.#keep(
      new Counter({
        ...this.#described(name),
        collect() {
          this.reset()
          this.inc(read())
        },
      }),
    )
  }

  /** Always 1. */
  info(name: KeptName, labels: Readonly<Record<string, string>>): void {
    this.#keep(new Gauge(this.#described(name))).set(labels, 1)
  }

  histogram(name: KeptName): Histogram {
    return this.#keep(
      new Histogram({ ...this.#described(name), buckets: [...(METRICS[name]?.buckets ?? [])] }),
    )
  }

  #keep<Instrument extends Gauge | Counter | Histogram>(instrument: Instrument): Instrument {
    this.#registry.registerMetric(instrument)
    return instrument
  }

  /** `registers: []` avoids the global default registry. */
  #described(name: KeptName) {
    const { help = name, labels = [] } = METRICS[name] ?? {}
    return { name, help, labelNames: [...labels], registers: [] }
  }
}
