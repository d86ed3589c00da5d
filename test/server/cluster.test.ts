import { expect, onTestFinished, test } from 'vitest'
import { forkWorker } from '../../src/server/supervisor/cluster.ts'

test.each([
  ['is missing', '/nonexistent/node', 'ENOENT'],
  ['cannot even be asked for', 'a\0path', 'null bytes'],
])('a worker whose program %s ends, and its supervisor goes on', async (_, path, fault) => {
  const { execPath } = process
  onTestFinished(() => void (process.execPath = execPath))
  process.execPath = path
  const worker = forkWorker({ out: () => undefined, err: () => undefined, sockets: 0 })
  process.execPath = execPath
  expect(await worker.ended).toEqual({ code: null, signal: null, fault: expect.stringContaining(fault) })
  worker.send({ is: 'drain' })
  worker.kill()
})
