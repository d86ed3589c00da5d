import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { CommandError } from '../base/catalogue/command.ts'
import type { Random } from '../base/random.ts'
import { verdict } from '../changes/blast/verdict.ts'
import { adoptedBy, plan } from '../changes/plan.ts'
import { planFileText, readPlanFile, stateDigest } from '../changes/plan-file.ts'
import {
  type ApplyOptions,
  type ApplyResult,
  execute,
  type PlanOptions,
  type PlanWithImpact,
  planConfiguration,
  planWithImpact,
  type Review,
} from './configuration.ts'
import type { AppPorts } from './ports.ts'
import { authorship } from './revision-author.ts'
import { liveOrEmpty } from './stored.ts'

export interface SavePlanOptions extends PlanOptions {
  /** Where to write it. */
  readonly file: string
  /** How long it is good. */
  readonly expiresMs: number
}

/** A plan that was written down. */
export interface SavePlanResult extends PlanWithImpact {
  readonly expiresAtMs: number
}

/**
 * Plans and writes the plan to a file that only its owner may read.
 * @throws what {@link planConfiguration} throws; GW9001 where the file cannot be written.
 */
export async function keepPlan(
  paths: readonly string[],
  storeUrl: string,
  ports: AppPorts,
  wishes: SavePlanOptions,
): Promise<SavePlanResult> {
  const live = await liveOrEmpty(storeUrl, 'read', ports)
  const made = await planConfiguration(paths, storeUrl, ports, wishes)
  if (made.plan.base !== live.head.revision) {
    throw new CommandError('GW4001', 'The store moved while the plan was made.')
  }
  const createdAtMs = ports.clock.nowMs()
  const expiresAtMs = createdAtMs + wishes.expiresMs
  const kept = {
    ...(await authorship(paths, ports)),
    createdAtMs,
    expiresAtMs,
    base: made.plan.base,
    baseDigest: stateDigest(live.resources),
    adopted: [...adoptedBy(made.plan)],
    tree: made.tree,
  }
  ports.signal.throwIfAborted()
  await writeWhole(
    resolve(ports.cwd, wishes.file),
    planFileText(kept, verdict(made.plan, made.radius)),
    ports.random,
  )
  return { ...made, expiresAtMs }
}

/**
 * What a plan file would change, where it can still be applied.
 * @throws {CommandError} GW3003, GW4001, GW4019
 */
export async function planOfFile(file: string, storeUrl: string, ports: AppPorts): Promise<PlanWithImpact> {
  const { ready, live } = await readyOf(file, storeUrl, 'read', ports)
  return planWithImpact(ready, live, storeUrl, ports)
}

/**
 * Carries out exactly what a plan file says, as `applyConfiguration` does from the preview on.
 * @throws {CommandError} GW3003 where the file was changed, GW4019 where it has expired, GW4001 where the store is not
 * what it was made against.
 */
export async function applyPlan(
  file: string,
  storeUrl: string,
  ports: AppPorts,
  review: Review,
  wishes: ApplyOptions,
): Promise<ApplyResult> {
  const { ready, live, author } = await readyOf(file, storeUrl, 'upgrade', ports)
  return execute({ ready, live, paths: [file], author }, storeUrl, ports, review, wishes)
}

async function readyOf(file: string, storeUrl: string, mode: 'read' | 'upgrade', ports: AppPorts) {
  const kept = readPlanFile(await textOf(resolve(ports.cwd, file), file), file, ports.clock.nowMs())
  const live = await liveOrEmpty(storeUrl, mode, ports)
  if (kept.base !== live.head.revision) {
    throw new CommandError(
      'GW4001',
      `${file} was made against revision ${kept.base}, but the store is at ${live.head.revision}.`,
    )
  }
  if (kept.baseDigest !== stateDigest(live.resources)) {
    throw new CommandError('GW4001', `${file} was made against another store.`, {
      hint: 'Pass the --store that it was made for, or plan again; nothing was changed.',
    })
  }
  const { tree, author, gitCommit } = kept
  return {
    live,
    ready: { tree, warnings: [], plan: plan(live, tree, new Set(kept.adopted)) },
    author: async () => ({
      ...(author !== undefined && { author }),
      ...(gitCommit !== undefined && { gitCommit }),
    }),
  }
}

async function textOf(path: string, name: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (!isMissing) throw error
    throw new CommandError('GW6001', `There is no plan file ${name}.`, {
      hint: 'Write one with `gw plan -o FILE`, or name configuration files with -c.',
    })
  }
}

/** Whole or not at all: a plan that is half written must not lie where somebody applies it from. */
async function writeWhole(path: string, text: string, random: Random): Promise<void> {
  const beside = `${path}.${Buffer.from(random.bytes(4)).toString('hex')}`
  try {
    await writeFile(beside, text, { mode: 0o600, flag: 'wx' })
    await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}
