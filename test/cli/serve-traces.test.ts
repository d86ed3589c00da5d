import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { tempDir } from '../support/temp-dir.ts'
import { startGw } from './process.ts'

test('a process whose collector cannot be reached ends with its drain, not with the retries of an export', async () => {
  const dir = tempDir(onTestFinished)
  dir.write('gw.yaml', 'version: 1\n')
  const argv = ['serve', '-c', 'gw.yaml', '--gateway-only', '--listen', '127.0.0.1:0', '--drain', '500ms']
  const { child, ended } = startGw(argv, {
    cwd: dir.path,
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_TRACES_SAMPLER: 'always_on',
    },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  while (!said.includes('Serving revision')) {
    const [piece] = (await once(child.stderr, 'data')) as [Buffer]
    said += piece.toString()
  }
  const url = /Gateway on (\S+)/.exec(said)?.[1] ?? ''
  // Rejected calls are traced as well. The second attempt of their export comes a second later.
  expect((await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' })).status).toBe(401)
  await new Promise(resolve => void setTimeout(resolve, 300))
  const startedMs = performance.now()
  child.kill('SIGTERM')
  expect(await ended).toMatchObject({ exit: 0, signal: null })
  // A half for the drain, one for the last export at most, and the process's own end.
  expect(performance.now() - startedMs).toBeLessThan(4_000)
})
