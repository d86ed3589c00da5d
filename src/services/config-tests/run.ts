import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Clock, stoppedClock } from '../../base/clock.ts'
import { formatNano } from '../../base/decimal.ts'
import { loadTests, type PlacedTest } from '../../config/config-tests.ts'
import type { Place } from '../../config/types.ts'
import type { ConfigTest } from '../../schema/config-test.ts'
import type { Snapshot } from '../../snapshot/types.ts'
import { NO_NODES, type NodeDirectory } from '../../upstream/nodes.ts'
import { loadTree } from '../configuration.ts'
import type { AppPorts } from '../context.ts'
import { ConfigurationInvalid } from '../invalid.ts'
import { LoadedLookup, type WhyContext } from '../why/context.ts'
import type { View } from '../why/decide.ts'
import { contextOfFiles, freshView } from '../why/from-files.ts'
import { type Judgement, judge } from './judge.ts'

/** A test and its result. */
export interface TestResult {
  readonly name: string
  readonly place: Place
  readonly judgement: Judgement
}

/** The probe failure of an endpoint that a test declares down. */
const DOWN = {
  countsAsFailure: true,
  wasSent: false,
  hasAnswered: false,
  cooldownMs: undefined,
  reason: 'the test says so',
} as const

/**
 * Runs tests against files with the code that decides in a gateway: offline, without a store.
 * @param testPaths test files. If empty: every `*.test.yaml` in the directories of the configuration, and
 * `NAME.test.yaml` beside each file `NAME.yaml`.
 * @throws {ConfigurationInvalid} for the configuration or the tests; {@link CommandError} not_servable
 */
export async function runConfigTests(
  configPaths: readonly string[],
  testPaths: readonly string[],
  ports: AppPorts,
): Promise<readonly TestResult[]> {
  const { tree } = await loadTree(configPaths, new Set(), ports)
  const paths = testPaths.length > 0 ? testPaths : await besideAll(configPaths, ports.cwd)
  const { environment, readStdin } = ports
  const loaded = await loadTests(paths, {
    environment,
    readStdin,
    known: new Set(),
    folder: ports.cwd,
  })
  if (!loaded.ok) throw new ConfigurationInvalid(loaded.problems)
  const context = await contextOfFiles(tree, ports)
  const known = new LoadedLookup(context)
  for (const kind of ['settings', 'node', 'endpoint', 'publication', 'tenant', 'key'] as const)
    await known.loadAll(kind)
  const worlds = new Worlds(context, ports.clock)
  return loaded.tests.map(({ test, place }: PlacedTest) => ({
    name: test.name ?? nameOf(test),
    place,
    judgement: judge(test, worlds.viewFor(test), known),
  }))
}

/** A generated title for an unnamed test. */
function nameOf(test: ConfigTest): string {
  const subject = test.key === undefined ? `each key of ${test.tenant}` : `key ${test.key}`
  if (test.may_call !== undefined) return `${subject} may call ${test.may_call}`
  if (test.may_not_call !== undefined) return `${subject} may not call ${test.may_not_call}`
  if (test.routes_to) return `${test.model} routes to ${test.routes_to.join(', ')}`
  if (test.costs !== undefined) return `${test.model} costs ${formatNano(test.costs)}`
  return `${subject} is rejected ${test.model}`
}

async function besideAll(configPaths: readonly string[], cwd: string): Promise<readonly string[]> {
  return Promise.all(
    configPaths.map(async path => {
      const isFolder = await stat(resolve(cwd, path)).then(
        stats => stats.isDirectory(),
        () => false, // the loader reports unreadable paths
      )
      return isFolder ? path : path.replace(/(\.ya?ml)?$/, '.test.yaml')
    }),
  )
}

/** The nodes that a test says are connected, with the labels of the files, or else of their tokens. */
function nodesOfTest(snapshot: Snapshot, nodes: NonNullable<ConfigTest['nodes']>): NodeDirectory {
  const all = Object.entries(nodes).map(
    ([name, { labels = {} }]) =>
      snapshot.nodes.get(name) ?? { name, labels: new Map(Object.entries(labels)), engines: undefined },
  )
  return {
    ...NO_NODES,
    all,
    obstacle(name, engine) {
      const node = nodes[name]
      if (!node) return 'no_node'
      if (node.draining) return 'draining'
      return node.engines === undefined || node.engines.includes(engine) ? undefined : 'engine_down'
    },
  }
}

/**
 * The gateway state for a test: its time, its endpoints that are down, and its nodes. Tests with the same state share one view.
 */
class Worlds {
  readonly context: WhyContext
  readonly #clock: Clock
  readonly #views = new Map<string, View>()

  constructor(context: WhyContext, clock: Clock) {
    this.context = context
    this.#clock = clock
  }

  viewFor({ at, down = [], nodes }: Pick<ConfigTest, 'at' | 'down' | 'nodes'>): View {
    const id = JSON.stringify([at, down.toSorted(), nodes])
    const known = this.#views.get(id)
    if (known) return known
    const { snapshot } = this.context.view
    const connected = nodes && nodesOfTest(snapshot, nodes)
    const view = freshView(snapshot, stoppedClock(at ?? this.#clock.nowMs()), connected)
    for (const name of down) {
      const endpoint = snapshot.endpoints.get(name)
      if (!endpoint) continue
      const state = view.health.of(endpoint)
      for (let failures = 0; failures < snapshot.health.unhealthyAfter; failures++) state.failed(DOWN, '')
    }
    this.#views.set(id, view)
    return view
  }
}
