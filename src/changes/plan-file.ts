import { createHash } from 'node:crypto'
import { z } from 'zod'
import { CommandError } from '../base/catalogue/command.ts'
import type { DeclaredResource, Tree } from '../config/types.ts'
import { setName } from '../schema/document.ts'
import { type CanonicalSpec, decode, encode, type Json, KIND_NAMES, sortKeys } from '../schema/kinds.ts'
import { timestamp } from '../schema/scalars.ts'
import type { OwnedResource } from '../store/types.ts'

const FORMAT = 'gw plan'
const VERSION = 1

/** A plan to be looked at now and carried out later, by somebody else, on another machine. */
export interface SavedPlan {
  readonly createdAtMs: number
  readonly expiresAtMs: number
  /** The revision that it was made against, and {@link stateDigest} of what stood then. */
  readonly base: number
  readonly baseDigest: string
  /** Of the files. */
  readonly author?: string
  readonly gitCommit?: string
  /** What it takes over, as `kind/name`. */
  readonly adopted: readonly string[]
  readonly tree: Tree
}

const count = z.int().min(1)
const content = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  created_at: timestamp,
  expires_at: timestamp,
  base: z.int().min(0),
  base_digest: z.string(),
  author: z.string().optional(),
  git_commit: z.string().optional(),
  adopted: z.array(z.string()),
  set: setName,
  files: z.array(z.string()),
  /** For people: nothing is read from it. */
  summary: z.string(),
  resources: z.array(
    z.strictObject({
      kind: z.enum(KIND_NAMES),
      name: z.string(),
      spec: z.record(z.string(), z.json()),
      file: z.string(),
      line: count,
      column: count,
      previous_name: z.string().optional(),
    }),
  ),
  digest: z.string(),
})
type Content = z.output<typeof content>

/**
 * The plan as a file: JSON with the whole content of the tree, references to secrets as they are, never a secret, and
 * a digest over all of it. The digest finds edits and damage; who can write the file and compute a digest needs no
 * file to apply what they like.
 *
 * @param summary a line for whoever opens the file.
 */
export function planFileText(kept: SavedPlan, summary: string): string {
  const { tree, adopted, base, baseDigest, author, gitCommit } = kept
  const unsigned = {
    format: FORMAT,
    version: VERSION,
    summary,
    created_at: iso(kept.createdAtMs),
    expires_at: iso(kept.expiresAtMs),
    base,
    base_digest: baseDigest,
    ...(author !== undefined && { author }),
    ...(gitCommit !== undefined && { git_commit: gitCommit }),
    adopted: [...adopted],
    set: tree.set,
    files: [...tree.files],
    resources: tree.resources.map(({ kind, name, spec, place, previousName }) => ({
      kind,
      name,
      ...(previousName !== undefined && { previous_name: previousName }),
      spec,
      ...place,
    })),
  }
  return `${JSON.stringify({ ...unsigned, digest: digestOf(unsigned) }, null, 2)}\n`
}

/**
 * @param name of the file, for messages.
 * @throws {CommandError} GW3003 where it is none, was changed, or was written by a gw with other defaults; GW4019 where
 * its time is over.
 */
export function readPlanFile(text: string, name: string, nowMs: number): SavedPlan {
  const read = content.safeParse(parsed(text))
  if (!read.success) {
    const [issue] = read.error.issues
    const where = issue && issue.path.length > 0 ? ` (${issue.path.join('.')}: ${issue.message})` : ''
    throw new CommandError('GW3003', `${name} is no plan file that this gw can read${where}.`)
  }
  const { digest, ...unsigned } = parsed(text) as { readonly digest: string }
  if (digestOf(unsigned) !== digest) {
    throw new CommandError('GW3003', `${name} was changed since it was written: its digest does not fit.`)
  }
  const { expires_at: expiresAtMs, created_at: createdAtMs } = read.data
  if (expiresAtMs <= nowMs) throw new CommandError('GW4019', `${name} was good until ${iso(expiresAtMs)}.`)
  return {
    createdAtMs,
    expiresAtMs,
    base: read.data.base,
    baseDigest: read.data.base_digest,
    ...(read.data.author !== undefined && { author: read.data.author }),
    ...(read.data.git_commit !== undefined && { gitCommit: read.data.git_commit }),
    adopted: read.data.adopted,
    tree: {
      set: read.data.set,
      files: read.data.files,
      resources: read.data.resources.map(resource => declared(resource, name)),
    },
  }
}

/** What tells two states of a store apart that have the same number: whose what is, and what it says. */
export function stateDigest(resources: readonly OwnedResource[]): string {
  const lines = resources.map(({ kind, name, owner, set, spec }) =>
    JSON.stringify([kind, name, owner, set ?? null, spec]),
  )
  return sha256(lines.sort().join('\n'))
}

function declared(resource: Content['resources'][number], file: string): DeclaredResource {
  const { kind, name, spec, previous_name: previousName, ...place } = resource
  const canonical = sortKeys(spec) as CanonicalSpec
  let again: CanonicalSpec
  try {
    again = encode(kind, decode(kind, canonical))
  } catch (error) {
    throw new CommandError('GW3003', `${file}: ${kind} ${name} cannot be read.`, { cause: error })
  }
  if (JSON.stringify(again) !== JSON.stringify(canonical)) {
    throw new CommandError(
      'GW3003',
      `${file} was written by another gw: ${kind} ${name} means something else here.`,
    )
  }
  return { kind, name, spec: canonical, place, ...(previousName !== undefined && { previousName }) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // told by the schema, as all that is no plan
  }
}

/** Over the members in one order, so that a file that was only formatted anew is the same. */
function digestOf(unsigned: object): string {
  return sha256(JSON.stringify(sortKeys(unsigned as Json)))
}

function sha256(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
