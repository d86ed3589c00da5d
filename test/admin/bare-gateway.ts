import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { WhenOver } from '../support/when-over.ts'
import type { ControlScene } from './scene.ts'

/** A gateway of the store that answers every call with `{}`, which ends when it may. */
export async function bareGateway(
  { store }: Pick<ControlScene, 'store'>,
  whenOver: WhenOver,
  mayEnd?: Promise<void>,
): Promise<void> {
  const server = createServer((req, res) => {
    req.resume().once('end', () => {
      res.writeHead(200, { 'content-type': 'application/json' }).write('{}')
      void Promise.resolve(mayEnd).then(() => res.end())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  whenOver(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  await store.reportGateway({
    id: 'bare',
    pid: 1,
    host: 'box',
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    startedAtMs: 0,
    revision: 1,
    keyVersion: 1,
  })
}
