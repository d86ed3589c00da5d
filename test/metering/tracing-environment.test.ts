import { describe, expect, it } from 'vitest'
import { readTracing } from '../../src/metering/tracing/environment.ts'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

describe('the variables of OpenTelemetry', () => {
  it.each([
    ['http://collector:4318', 'http://collector:4318/v1/traces'],
    ['http://collector:4318/', 'http://collector:4318/v1/traces'],
    ['https://collector/otlp', 'https://collector/otlp/v1/traces'],
  ])('the endpoint %s is the base of %s', (endpoint, url) => {
    expect(readTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, '').options?.url).toBe(url)
  })

  it('the endpoint of traces is taken as it is, before the other one', () => {
    const { options } = readTracing({ ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t:1/x' }, '')
    expect(options?.url).toBe('http://t:1/x')
  })

  it('headers and resource attributes are lists in percent encoding; those of traces and the name of the service win', () => {
    const { options, problems } = readTracing(
      {
        ...ENDPOINT,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20one, x-team = a=b',
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=Bearer%20two',
        OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,region=eu%2C1',
        OTEL_SERVICE_NAME: 'gw-1',
      },
      '1.0.0',
    )
    expect(problems).toEqual([])
    expect(options?.headers).toEqual({ authorization: 'Bearer two', 'x-team': 'a=b' })
    expect(options?.resource).toEqual({ 'service.name': 'gw-1', 'service.version': '1.0.0', region: 'eu,1' })
  })

  it.each([
    [{}, 'traceidratio', 0.01],
    [{ OTEL_TRACES_SAMPLER_ARG: '0.5' }, 'traceidratio', 0.5],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio' }, 'traceidratio', 1],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' }, 'traceidratio', 0.25],
    [{ OTEL_TRACES_SAMPLER: 'always_on' }, 'always_on', 1],
  ])('%o samples by %s at %d', (environment, sampler, ratio) => {
    expect(readTracing({ ...ENDPOINT, ...environment }, '')).toMatchObject({
      options: { sampler, ratio },
      problems: [],
    })
  })

  it.each([
    [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, /^OTEL_TRACES_SAMPLER must be one of always_on, /],
    [
      { OTEL_TRACES_SAMPLER_ARG: '2' },
      /^OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1: 0\.01 is used$/,
    ],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' }, /^OTEL_EXPORTER_OTLP_TIMEOUT must be a number/],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: '0' }, /^OTEL_EXPORTER_OTLP_TIMEOUT must be a number from 1/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'secret' }, /^OTEL_EXPORTER_OTLP_HEADERS must be a list such as/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=%zz' }, /^OTEL_EXPORTER_OTLP_HEADERS must be a list such as/],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^OTLP over gRPC is not supported/],
  ])('%o is a problem, and the rest is used', (environment, problem) => {
    const { options, problems } = readTracing({ ...ENDPOINT, ...environment }, '')
    expect(problems).toEqual([expect.stringMatching(problem)])
    expect(problems.join('')).not.toMatch(/secret|zz/)
    expect(options).toMatchObject({ url: 'http://collector:4318/v1/traces', ratio: 0.01 })
  })
})
