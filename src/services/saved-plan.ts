import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { CommandError } from '../base/catalogue/command.ts'
import type { Random } from '../base/random.ts'
import { verdict } from './changes/blast/verdict.ts'
import { adoptedBy, plan } from './changes/plan.ts'
import { planFileText, readPlanFile, stateDigest } from './changes/plan-file.ts'
import {
  type ApplyOptions,
  type ApplyResult,
  execute,
  localRun,
  type PlanOptions,
  type PlanWithImpact,
  planConfiguration,
  planWithImpact,
  type Review,
} from './configuration.ts'
import type { AppPorts } from './context.ts'
import { authorship } from './revision-author.ts'
import type { CommandStore } from './stored.ts'

export interface SavePlanOptions extends PlanOptions {
  /** The path of the plan file. */
  readonly file: string
  /** The validity of the plan. */
  readonly expiresMs: number
}

/** A plan that was written to a file. */
export interface SavePlanResult extends PlanWithImpact {
  readonly expiresAtMs: number
}

/**
 * Plans and writes the plan to a file that only its owner may read.
 * @throws what {@link planConfiguration} throws; unexpected if the file cannot be written.
 */
export async function savePlan(
  paths: readonly string[],
  stored: CommandStore,
  ports: AppPorts,
  options: SavePlanOptions,
): Promise<SavePlanResult> {
  const live = await stored.live()
  const made = await planConfiguration(paths, stored, ports, options)
  if (made.plan.base !== live.head.revision) {
    throw new CommandError('revision_changed', 'The store changed during planning.')
  }
  const createdAtMs = ports.clock.nowMs()
  const expiresAtMs = createdAtMs + options.expiresMs
  const saved = {
    ...(await authorship(paths, ports)),
    createdAtMs,
    expiresAtMs,
    base: made.plan.base,
    baseDigest: stateDigest(live.resources),
    adopted: [...adoptedBy(made.plan)],
    tree: made.tree,
  }
  ports.signal.throwIfAborted()
  await writeAtomically(
    resolve(ports.cwd, options.file),
    planFileText(saved, verdict(made.plan, made.radius)),
    ports.random,
  )
  return { ...made, expiresAtMs }
}

/**
 * The plan in a plan file, checked against the store.
 * @throws {CommandError} plan_file_invalid, revision_changed, plan_expired
 */
export async function planOfFile(
  file: string,
  stored: CommandStore,
  ports: AppPorts,
): Promise<PlanWithImpact> {
  const { ready, live } = await preparePlan(file, stored, ports)
  return planWithImpact(ready, live, stored)
}

/**
 * Applies a plan file, as `applyConfiguration` does from the preview on.
 * @throws {CommandError} plan_file_invalid if the file was modified, plan_expired if it has expired, revision_changed if the store has changed
 * since the plan.
 */
export async function applyPlan(
  file: string,
  stored: CommandStore,
  ports: AppPorts,
  review: Review,
  options: ApplyOptions,
): Promise<ApplyResult> {
  const { ready, live, author } = await preparePlan(file, stored, ports)
  return execute({ ready, live, author }, localRun([file], live, stored, ports, review, options))
}

async function preparePlan(file: string, stored: CommandStore, ports: AppPorts) {
  const saved = readPlanFile(await textOf(resolve(ports.cwd, file), file), file, ports.clock.nowMs())
  const live = await stored.live()
  if (saved.base !== live.head.revision) {
    throw new CommandError(
      'revision_changed',
      `${file} was made against revision ${saved.base}, but the store is at ${live.head.revision}.`,
    )
  }
  if (saved.baseDigest !== stateDigest(live.resources)) {
    throw new CommandError('revision_changed', `${file} was made against another store.`, {
      hint: 'Pass the --store of the plan, or plan again; nothing was changed.',
    })
  }
  const { tree, author, gitCommit } = saved
  return {
    live,
    ready: { tree, warnings: [], plan: plan(live, tree, new Set(saved.adopted)) },
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
    throw new CommandError('usage', `There is no plan file ${name}.`, {
      hint: 'Write one with `gw plan -o FILE`, or name configuration files with -c.',
    })
  }
}

/** Written completely or not at all: a half-written plan must never be applied. */
async function writeAtomically(path: string, text: string, random: Random): Promise<void> {
  const beside = `${path}.${Buffer.from(random.bytes(4)).toString('hex')}`
  try {
    await writeFile(beside, text, { mode: 0o600, flag: 'wx' })
    await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}
