// @ts-check
/**
 * Many nodes in one process, apart from the gateway: each joins, keeps its connection, and leads to an engine of its own
 * loopback address. Beside each a plain TCP relay to its engine. Order: `{ server, token, count, enginePort }`; answered by `{}` when all are connected.
 */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import process from 'node:process'
import { runAgent } from '../src/agent/agent.ts'
import { join } from '../src/agent/dial.ts'
import { systemClock } from '../src/base/clock.ts'
import { systemRandom } from '../src/base/random.ts'
import { ENGINE, engineHost, nodeName, relayHost } from './nodes-configuration.mjs'

/** @typedef {{ server: string, token: string, count: number, enginePort: number }} Order */

process.on('message', order => {
  start(/** @type {Order} */ (order)).then(
    () => process.send?.({}),
    error => process.send?.({ fault: String(error) }),
  )
})
process.on('disconnect', () => process.exit(0))

/** @param {Order} order */
async function start({ server: url, token, count, enginePort }) {
  const server = { url: new URL(url) }
  for (let index = 0; index < count; index++) {
    await relay(relayHost(index), engineHost(index), enginePort)
    const { credential } = await join(server, token, nodeName(index))
    await new Promise((resolve, reject) => {
      runAgent({
        servers: [server],
        credential,
        engines: [{ name: ENGINE, host: engineHost(index), port: enginePort }],
        clock: systemClock,
        random: systemRandom,
        version: 'bench',
        signal: new AbortController().signal,
        drainMs: 0,
        onCredential: async () => undefined,
        onEvent: ({ type }) => type === 'connected' && resolve(undefined),
      }).catch(reject)
    })
  }
}

/** Passes connections on, as a router would. @param {string} host @param {string} target @param {number} port */
async function relay(host, target, port) {
  const server = createServer({ noDelay: true }, socket => {
    const other = connect({ host: target, port, noDelay: true })
    for (const [from, to] of [
      [socket, other],
      [other, socket],
    ]) {
      from?.on('data', bytes => to?.write(bytes))
      from?.on('error', () => undefined)
      from?.on('close', () => to?.destroy())
    }
  })
  server.listen({ host, port, backlog: 4_096 })
  await once(server, 'listening')
}
