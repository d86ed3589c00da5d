import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { formatNano } from '../../base/decimal.ts'
import { loadTests, type PlacedTest } from '../../config/config-tests.ts'
import type { Place } from '../../config/types.ts'
import type { ConfigTest } from '../../schema/config-test.ts'
import { loadTree } from '../configuration.ts'
import { ConfigurationInvalid } from '../invalid.ts'
import type { AppPorts } from '../ports.ts'
import { contextOfFiles } from '../why/from-files.ts'
import { LoadedLookup } from '../why/lookup.ts'
import { type Judgement, judge } from './judge.ts'
import { Worlds } from './world.ts'

/** A test, and what came of it. */
export interface TestResult {
  readonly name: string
  readonly place: Place
  readonly judgement: Judgement
}

/**
 * Runs tests against files, by the code that decides for a gateway: offline, without a store.
 *
 * @param testPaths files of tests; none: every `*.test.yaml` in the directories of the configuration, and
 *   `NAME.test.yaml` beside a file `NAME.yaml` of it.
 * @throws {ConfigurationInvalid} for the configuration, or the tests; {@link CommandError} GW3002
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
  for (const kind of ['settings', 'endpoint', 'publication', 'tenant', 'key'] as const)
    await known.learnAll(kind)
  const worlds = new Worlds(context, ports.clock)
  return loaded.tests.map(({ test, place }: PlacedTest) => ({
    name: test.name ?? nameOf(test),
    place,
    judgement: judge(test, worlds.viewFor(test), known),
  }))
}

/** The sentence that a test is. */
function nameOf(test: ConfigTest): string {
  const who = test.key === undefined ? `each key of ${test.tenant}` : `key ${test.key}`
  if (test.may_call !== undefined) return `${who} may call ${test.may_call}`
  if (test.may_not_call !== undefined) return `${who} may not call ${test.may_not_call}`
  if (test.routes_to) return `${test.model} routes to ${test.routes_to.join(', ')}`
  if (test.costs !== undefined) return `${test.model} costs ${formatNano(test.costs)}`
  return `${who} is rejected ${test.model}`
}

async function besideAll(configPaths: readonly string[], cwd: string): Promise<readonly string[]> {
  return Promise.all(
    configPaths.map(async path => {
      const isFolder = await stat(resolve(cwd, path)).then(
        stats => stats.isDirectory(),
        () => false, // the configuration was read: what cannot be looked at here is told by the loader
      )
      return isFolder ? path : path.replace(/(\.ya?ml)?$/, '.test.yaml')
    }),
  )
}
