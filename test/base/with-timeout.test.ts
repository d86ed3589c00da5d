import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { withTimeout } from '../../src/base/with-timeout.ts'

const comes = (signal: AbortSignal) =>
  new Promise<string>(resolve => {
    signal.addEventListener('abort', () => resolve((signal.reason as Error).name), { once: true })
  })

test('patience ends also where garbage is collected before it does', { timeout: 5_000 }, async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const collecting = setInterval(collect, 5)
  onTestFinished(() => clearInterval(collecting))
  expect(await comes(withTimeout(50, new AbortController().signal))).toBe('TimeoutError')
})

test('who asked may end it before', async () => {
  const asked = new AbortController()
  const ended = comes(withTimeout(60_000, asked.signal))
  asked.abort(new RangeError('enough'))
  expect(await ended).toBe('RangeError')
})
