/**
 * What `npm run crash`, `restarts`, `soak`, `drain`, `reload`, `tunnel`, `fuzz`, `nodes` and `many` run after the build: the proofs of `test/crash` and of the strict
 * limits, in their long form. `npm run proofs` runs the same tests in their short form.
 *
 *     crash   kill -9 of the real process under load, 100 times; of one of three on one store, 100 times, which is also
 *             stopped for 30 s, 6 times; a power cut at 200 moments
 *     restarts  all workers replaced under load, 50 times; with `GW_PROGRAM`, the `bin/gw.js` of another version, also from that to this one
 *     drain   SIGTERM under load with streams open, 50 times
 *     reload  files saved every 200 ms for a minute under load, 20 of them bad, beside a minute without before and after
 *     tunnel  node connections that are cut, reset, half-closed, stalled or fed with garbage, 3,000 of them with 20 calls each
 *     fuzz    an hour of connections to peers that send anything
 *     many    one of four gateways on PostgreSQL is killed, 30 times; PostgreSQL is killed, 30 times; networks that lose bytes, 20 times; gateways
 *             and the server stopped for 30 s; clocks that differ; PostgreSQL away for a minute; a replica that is promoted
 *     nodes   200 nodes with 20 streams each, a tenth of which dies, and their CPU beside that of a direct endpoint; kill -9 of a node,
 *             an engine, the control plane and the gateway, 10 times each
 *     soak    10,000 requests of every outcome with disconnects anywhere · a quota under 500 clients at once, 50 rounds
 *             · 50,000 requests over upstream connections that die whenever they are idle
 *
 * `GW_SEED` runs a mix again as it was; every failure names its seed. `GW_TEST_ENGINE=postgres` has the stores of `restarts`, `drain`, `reload`
 * and `nodes` in PostgreSQL.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

const PROOFS = {
  crash: {
    files: ['test/crash/kill.proof.ts', 'test/crash/several.proof.ts', 'test/crash/power-loss.proof.ts'],
    sizes: { GW_KILLS: '100', GW_STOPS: '6', GW_STOP_MS: '30000', GW_CALLS: '500', GW_CUTS: '200' },
  },
  restarts: { files: ['test/crash/workers.proof.ts'], sizes: { GW_RESTARTS: '50' } },
  drain: { files: ['test/crash/drain.proof.ts'], sizes: { GW_TERMS: '50' } },
  reload: { files: ['test/crash/reload.proof.ts'], sizes: { GW_RELOAD_SECONDS: '60' } },
  tunnel: { files: ['test/tunnel/chaos.proof.ts'], sizes: { GW_TUNNEL_ROUNDS: '3000' } },
  fuzz: { files: ['test/tunnel/fuzz.proof.ts'], sizes: { GW_FUZZ_SECONDS: '3600' } },
  nodes: {
    files: ['test/crash/nodes.proof.ts', 'test/crash/node-kills.proof.ts'],
    sizes: { GW_NODES: '200', GW_STREAMS: '20', GW_EVENT_MS: '1500', GW_NODE_KILLS: '10' },
  },
  many: {
    files: ['test/crash/many.proof.ts', 'test/crash/many-faults.proof.ts'],
    sizes: { GW_KILLS: '30', GW_FAULTS: '20' },
  },
  soak: {
    files: ['test/crash/mixed.proof.ts', 'test/gateway/limits-at-once.proof.ts', 'test/crash/stale.proof.ts'],
    sizes: { GW_MIXED: '10000', GW_ROUNDS: '50', GW_STALE: '50000' },
  },
}

const [name = ''] = process.argv.slice(2)
const proof = Object.hasOwn(PROOFS, name) ? PROOFS[name] : undefined
if (proof === undefined) {
  console.error(`Say which: ${Object.keys(PROOFS).join(' or ')}.`)
  process.exitCode = 64
} else {
  const child = spawn(
    'npx',
    [
      'vitest',
      'run',
      '-c',
      'vitest.proofs.config.ts',
      ...proof.files,
      '--no-file-parallelism',
      '--disable-console-intercept',
    ],
    {
      cwd: ROOT,
      env: { ...proof.sizes, ...process.env },
      stdio: 'inherit',
    },
  )
  const [code] = await once(child, 'exit')
  process.exitCode = code ?? 1
}
