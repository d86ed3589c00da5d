import { keyDigest } from '../../base/api-key.ts'
import { CommandError } from '../../base/catalogue/command.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { yieldToEventLoop } from '../../base/yield-to-event-loop.ts'
import type { Tree } from '../../config/types.ts'
import { Limiter } from '../../limits/limiter.ts'
import type { ServedState } from '../../schema/state.ts'
import { type Compiled, compiling, describe } from '../../snapshot/compile.ts'
import type { Snapshot } from '../../snapshot/types.ts'
import { declaredNodes, type NodeDirectory, NodeTargets, usesNodes } from '../../upstream/nodes.ts'
import { HealthRegistry } from '../../upstream/routing/health-registry.ts'
import type { DeclaredState, WhyContext } from './context.ts'
import type { View } from './decide.ts'

const NODES = 'Nodes: each declared node is assumed to be connected, with every engine.'

/** Larger than the cost of any call. */
const AMPLE_NANO = 2n ** 62n

const UNKNOWN = [
  'Usage so far: assumed to be zero.',
  'Endpoint health: each endpoint is assumed to be usable.',
  'Prepaid balances: assumed to cover the call.',
  'Secrets: each key is assumed to have one.',
]

/**
 * The state of a gateway that has just started to serve a tree of files.
 *
 * @throws {CommandError} not_servable if a gateway could not serve them.
 */
export async function contextOfFiles(
  tree: Tree,
  ports: { readonly clock: Clock; readonly random: Random },
): Promise<WhyContext> {
  const snapshot = await snapshotOfFiles(tree, ports)
  const byName = new Map(tree.resources.map(resource => [`${resource.kind} ${resource.name}`, resource]))
  const toDeclared = ({ name, spec, place }: Tree['resources'][number]): DeclaredState => {
    return { name, spec, owner: 'config', file: place.file, line: place.line }
  }
  return {
    source: 'files',
    unknown: usesNodes(snapshot) ? [...UNKNOWN, NODES] : UNKNOWN,
    view: freshView(snapshot, ports.clock),
    manualMaintenance: false,
    async one(kind, name) {
      const found = byName.get(`${kind} ${name}`)
      return found && toDeclared(found)
    },
    all: async kind => tree.resources.filter(resource => resource.kind === kind).map(toDeclared),
  }
}

async function snapshotOfFiles(
  tree: Tree,
  ports: { readonly clock: Clock; readonly random: Random },
): Promise<Snapshot> {
  const compiled = await compiledFiles(tree, ports)
  if (compiled.ok) return compiled.snapshot
  throw new CommandError('not_servable', `A gateway could not serve this: ${compiled.problems.join('; ')}.`)
}

/** A snapshot in which each key has a random, unknown secret. */
export async function compiledFiles(
  tree: Tree,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<Compiled> {
  const keys = tree.resources.filter(({ kind, spec }) => kind === 'key' && !spec['hash'] && !spec['secret'])
  const randomDigest = () => keyDigest(Buffer.from(random.bytes(32)).toString('hex'))
  const state: ServedState = {
    revision: 0,
    keyVersion: 0,
    resources: tree.resources.map(resource => ({ ...resource, createdAtMs: clock.nowMs() })),
    secrets: keys.map(({ name }) => ({ key: name, digest: randomDigest() })),
    suspendedKeys: [],
  }
  return yieldToEventLoop(
    compiling(state, reference => keyDigest(describe(reference))),
    clock,
  )
}

/** A view without usage and without endpoint state. */
export function freshView(
  snapshot: Snapshot,
  clock: Clock,
  nodes: NodeDirectory = declaredNodes(snapshot),
): View {
  const limiter = new Limiter(clock)
  const query = limiter.balanceQuery(snapshot)
  query.answerSums(query.queries.map(({ key }) => ({ key, totalTokens: 0, totalNano: 0n, windowNano: 0n })))
  query.answerBalances(new Map(query.tenants.map(tenant => [tenant, AMPLE_NANO])))
  limiter.adopt(snapshot)
  const health = new HealthRegistry(clock)
  health.adopt(snapshot)
  return {
    snapshot,
    health,
    clock,
    nodes: new NodeTargets(nodes),
    ledgerHealthy: true,
    limiter: {
      refresh: async () => undefined,
      // The assumed balance is not shown as a real one.
      inspect: (...args) =>
        limiter
          .inspect(...args)
          .map(report =>
            report.info.name === 'balance'
              ? { ...report, usage: { ...report.usage, used: undefined } }
              : report,
          ),
    },
  }
}
