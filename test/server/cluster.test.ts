import { expect, onTestFinished, test } from 'vitest'
import { forkWorker } from '../../src/server/supervisor/cluster.ts'

test('a worker whose program is missing ends, and its supervisor goes on', async () => {
  const { execPath } = process
  onTestFinished(() => void (process.execPath = execPath))
  process.execPath = '/nonexistent/node'
  const worker = forkWorker({ out: () => undefined, err: () => undefined, sockets: 0 })
  process.execPath = execPath
  expect(await worker.ended).toEqual({
    code: null,
    signal: null,
    fault: expect.stringContaining('ENOENT'),
  })
  worker.send({ is: 'drain' })
  worker.kill()
})
