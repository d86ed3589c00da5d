// @ts-check
/**
 * The gateway without its books: no ledger, no log, no metrics. Everything else is as it is served, so that the
 * difference to it is what these cost.
 *
 *     node unbooked-gateway.mjs PORT STORE
 */
import process from 'node:process'
import { systemClock as clock } from '../dist/base/clock.js'
import { createLog } from '../dist/base/log.js'
import { pooledRandom, systemRandom } from '../dist/base/random.js'
import { Drains, InFlightRequests } from '../dist/gateway/endings.js'
import { startGateway } from '../dist/gateway/server.js'
import { Limiter } from '../dist/limits/limiter.js'
import { UNMEASURED } from '../dist/metering/request-log.js'
import { Reloader } from '../dist/server/reloader.js'
import { Upstreams } from '../dist/server/upstreams.js'
import { SnapshotHolder } from '../dist/snapshot/holder.js'
import { openStore } from '../dist/store/open.js'

const [port = '', url = ''] = process.argv.slice(2)
const random = pooledRandom(systemRandom)
const log = createLog({ write: () => undefined }, { level: 'silent', pretty: false, colour: false })
const probe = { heal: async () => ({ ok: true }) }
const store = await openStore(url, { mode: 'write', clock, folder: process.cwd() })
const holder = new SnapshotHolder()
const limiter = new Limiter(clock)
const upstreams = new Upstreams({ clock, random, log, probe: /** @type {any} */ (probe) })
const reloader = new Reloader({
  store,
  holder,
  environment: process.env,
  clock,
  log,
  prepare: async () => undefined,
  onSwap: snapshot => {
    limiter.adopt(snapshot)
    upstreams.adopt(snapshot)
  },
})
await reloader.start()

const done = Promise.resolve()
const noLedger = {
  healthy: true,
  open: () => Promise.resolve(0),
  durable: () => undefined,
  end: () => done,
  log: () => undefined,
}
await startGateway(
  { host: '127.0.0.1', port: Number(port) },
  {
    current: () => holder.current(),
    exchangePorts: upstreams.exchangePorts,
    routing: upstreams.routing,
    drains: new Drains(),
    inFlightRequests: new InFlightRequests(),
    limiter,
    ledger: noLedger,
    clock,
    random,
    log,
    health: res => void res.end('{}'),
    requests: UNMEASURED,
  },
)
process.on('SIGTERM', () => process.exit(0))
