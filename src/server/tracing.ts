import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { OpenTelemetryTracer } from '../metering/tracing/opentelemetry.ts'
import type { ServeOptions, ServePorts } from './serving.ts'

interface TracingPorts {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly environment: ServePorts['environment']
}

/** @returns undefined if the environment does not switch tracing on: then nothing is loaded. */
export async function openTracer(
  { version = '' }: ServeOptions,
  { environment, ...ports }: TracingPorts,
): Promise<OpenTelemetryTracer | undefined> {
  const isNamed = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'].some(
    name => environment[name],
  )
  if (!isNamed) return undefined
  const { readTracing } = await import('../metering/tracing/environment.ts')
  const { options, problems } = readTracing(environment, version)
  for (const problem of problems) ports.log.warn({ problem }, 'tracing')
  if (!options) return undefined
  // Loaded only if enabled: the packages take some milliseconds of the start, and memory.
  const { OpenTelemetryTracer: Tracer } = await import('../metering/tracing/opentelemetry.ts')
  const { sampler, ratio } = options
  ports.log.info({ sampler, ratio }, 'tracing')
  return new Tracer(options, ports)
}
