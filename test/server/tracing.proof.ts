import { describe, expect, it, onTestFinished } from 'vitest'
import { startGw } from '../cli/process.ts'
import { collector } from '../support/collector.ts'
import { tempDir } from '../support/temp-dir.ts'

const CONFIG = `version: 1
endpoints: { main: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: m } }
publications: { m: { bindings: [{ endpoint: main }] } }
`

/** Prints the loaded modules of the main thread at the end of the process. */
const RECORDER = `
import { registerHooks } from 'node:module'
import { isMainThread } from 'node:worker_threads'
const urls = []
registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) })
if (isMainThread) process.on('exit', () => process.stderr.write('LOADED ' + JSON.stringify(urls) + '\\n'))
`

/** Runs `gw serve` for one call without a key. */
async function serveOnce(environment: Readonly<Record<string, string>>) {
  const dir = tempDir(onTestFinished)
  dir.write('gw.yaml', CONFIG)
  const { child, ended } = startGw(
    ['serve', '--gateway-only', '--listen', '127.0.0.1:0', '-c', 'gw.yaml', '--drain', '5s'],
    {
      cwd: dir.path,
      environment,
      node: [`--import=data:text/javascript,${encodeURIComponent(RECORDER)}`],
      stdin: '',
    },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const url = await new Promise<string>(resolve => {
    let text = ''
    child.stderr.on('data', (piece: Buffer) => {
      text += piece.toString()
      const [, found] = /Gateway on (\S+)/.exec(text) ?? []
      if (found !== undefined) resolve(found)
    })
  })
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' })
  expect(answer.status).toBe(401)
  await answer.text()
  child.kill('SIGTERM')
  const { exit, stdout, stderr } = await ended
  expect(exit).toBe(0)
  const [, loaded = ''] = /LOADED (.*)/.exec(stderr) ?? []
  return {
    lines: stdout
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line) as Record<string, unknown>),
    loaded: (JSON.parse(loaded) as string[]).filter(each => /telemetry|tracing/.test(each)),
  }
}

describe('tracing in gw serve', () => {
  it.each([
    ['without its variables', {}],
    ['with empty ones', { OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_SERVICE_NAME: 'gw' }],
  ])('is off %s: no package is loaded', async (_name, environment) => {
    const { lines, loaded } = await serveOnce(environment)
    expect(loaded).toEqual([])
    expect(JSON.stringify(lines)).not.toMatch(/tracing|trace_id/)
  })

  it.each([{ OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }])('is off with %o', async off => {
    const { loaded } = await serveOnce({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', ...off })
    expect(loaded.filter(url => url.includes('telemetry'))).toEqual([])
  })

  it('sends the last spans before the process ends', async () => {
    const collected = await collector(onTestFinished)
    const { lines, loaded } = await serveOnce({
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collected.url}/`,
      OTEL_TRACES_SAMPLER: 'always_on',
      OTEL_BSP_SCHEDULE_DELAY: '60000',
    })
    expect(loaded.join(' ')).toContain('opentelemetry')
    expect(collected.spans).toMatchObject([
      {
        name: 'chat',
        attributes: { 'http.response.status_code': 401, 'error.type': 'invalid_api_key' },
        resource: { 'service.name': 'gw' },
      },
    ])
    const [{ traceId } = { traceId: '' }] = collected.spans
    expect(lines.find(({ msg }) => msg === 'request')).toMatchObject({ trace_id: traceId })
    expect(lines.find(({ msg }) => msg === 'tracing')).toMatchObject({ sampler: 'always_on', ratio: 1 })
  })

  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, 'OTEL_EXPORTER_OTLP_ENDPOINT'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'nowhere' }, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'],
  ])('serves without tracing if its address is malformed: %o', async (environment, name) => {
    const { lines, loaded } = await serveOnce(environment)
    expect(loaded.filter(url => url.includes('telemetry'))).toEqual([])
    expect(lines.find(({ msg }) => msg === 'tracing')).toMatchObject({
      level: 'warn',
      problem: `${name} is not an http:// or https:// URL: tracing is off`,
    })
  })
})
