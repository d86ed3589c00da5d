import { Limiter } from '../../admission/limiter.ts'
import { keyDigest } from '../../base/api-key.ts'
import { CommandError } from '../../base/catalogue/command.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Tree } from '../../config/types.ts'
import type { View } from '../../gateway/why/decide.ts'
import { HealthRegistry } from '../../routing/health-registry.ts'
import type { ServedState } from '../../schema/state.ts'
import { type Compiled, compiling, describe } from '../../snapshot/compile.ts'
import type { Snapshot } from '../../snapshot/types.ts'
import { yieldToEventLoop } from '../yield-to-event-loop.ts'
import type { DeclaredState, WhyContext } from './context.ts'

/** More than any call needs. */
const AMPLE_NANO = 2n ** 62n

const UNKNOWN = [
  'What was used so far: taken as nothing.',
  'How endpoints fare: each is taken as usable.',
  'Prepaid balances: taken to cover the call.',
  'Secrets: each key is taken to have one.',
]

/**
 * What a tree of files would mean to a gateway that has just begun to serve it.
 *
 * @throws {CommandError} GW3002 where a gateway could not serve them.
 */
export async function contextOfFiles(
  tree: Tree,
  ports: { readonly clock: Clock; readonly random: Random },
): Promise<WhyContext> {
  const snapshot = await snapshotOfFiles(tree, ports)
  const byName = new Map(tree.resources.map(resource => [`${resource.kind} ${resource.name}`, resource]))
  const shown = ({ name, spec, place }: Tree['resources'][number]): DeclaredState => {
    return { name, spec, owner: 'config', file: place.file, line: place.line }
  }
  return {
    source: 'files',
    unknown: UNKNOWN,
    view: freshView(snapshot, ports.clock),
    manualMaintenance: false,
    async one(kind, name) {
      const found = byName.get(`${kind} ${name}`)
      return found && shown(found)
    },
    all: async kind => tree.resources.filter(resource => resource.kind === kind).map(shown),
  }
}

async function snapshotOfFiles(
  tree: Tree,
  ports: { readonly clock: Clock; readonly random: Random },
): Promise<Snapshot> {
  const compiled = await compiledFiles(tree, ports)
  if (compiled.ok) return compiled.snapshot
  throw new CommandError('GW3002', `A gateway could not serve this: ${compiled.problems.join('; ')}.`)
}

/** A snapshot in which each key has a secret, of which nothing is known. */
export async function compiledFiles(
  tree: Tree,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<Compiled> {
  const keys = tree.resources.filter(({ kind, spec }) => kind === 'key' && !spec['hash'] && !spec['secret'])
  const unguessable = () => keyDigest(Buffer.from(random.bytes(32)).toString('hex'))
  const state: ServedState = {
    revision: 0,
    keyVersion: 0,
    resources: tree.resources.map(resource => ({ ...resource, createdAtMs: clock.nowMs() })),
    secrets: keys.map(({ name }) => ({ key: name, digest: unguessable() })),
    suspendedKeys: [],
  }
  return yieldToEventLoop(
    compiling(state, reference => keyDigest(describe(reference))),
    clock,
  )
}

/** Nothing was ever used, and no endpoint was ever asked. */
export function freshView(snapshot: Snapshot, clock: Clock): View {
  const limiter = new Limiter(clock)
  const question = limiter.balanceQuery(snapshot)
  question.answerSums(
    question.queries.map(({ key }) => ({ key, totalTokens: 0, totalNano: 0n, windowNano: 0n })),
  )
  question.answerBalances(new Map(question.tenants.map(tenant => [tenant, AMPLE_NANO])))
  limiter.adopt(snapshot)
  const health = new HealthRegistry(clock)
  health.adopt(snapshot)
  return {
    snapshot,
    health,
    clock,
    ledgerHealthy: true,
    limiter: {
      // A balance that was taken for granted is not shown as one that there is.
      inspect: (...asked) =>
        limiter
          .inspect(...asked)
          .map(reading =>
            reading.name === 'balance'
              ? { ...reading, usage: { ...reading.usage, used: undefined } }
              : reading,
          ),
    },
  }
}
