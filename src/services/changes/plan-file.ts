import { createHash } from 'node:crypto'
import { z } from 'zod'
import { CommandError } from '../../base/catalogue/command.ts'
import { iso } from '../../base/iso.ts'
import type { DeclaredResource, Tree } from '../../config/types.ts'
import { setName } from '../../schema/document.ts'
import { type CanonicalSpec, decode, encode, type Json, KIND_NAMES, sortKeys } from '../../schema/kinds.ts'
import { timestamp } from '../../schema/scalars.ts'
import type { OwnedResource } from '../../store/types.ts'

const FORMAT = 'gw plan'
const VERSION = 1

/** A plan to review now and apply later, possibly by another person on another machine. */
export interface SavedPlan {
  readonly createdAtMs: number
  readonly expiresAtMs: number
  /** The revision that it was made against, and its {@link stateDigest}. */
  readonly base: number
  readonly baseDigest: string
  /** From the git commit of the files. */
  readonly author?: string
  readonly gitCommit?: string
  /** The adopted resources, as `kind/name`. */
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
  /** For readers only; never parsed. */
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
 * The plan as a file: JSON with the full tree, secret references but no secrets, and a digest over everything. The
 * digest detects edits and damage. It is no signature: an attacker who can write files can also compute a digest.
 *
 * @param summary one line for readers of the file.
 */
export function planFileText(saved: SavedPlan, summary: string): string {
  const { tree, adopted, base, baseDigest, author, gitCommit } = saved
  const unsigned = {
    format: FORMAT,
    version: VERSION,
    summary,
    created_at: iso(saved.createdAtMs),
    expires_at: iso(saved.expiresAtMs),
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
 * @throws {CommandError} plan_file_invalid if the file is not a plan, was modified, or was written by a gw with other defaults;
 * plan_expired if it has expired.
 */
export function readPlanFile(text: string, name: string, nowMs: number): SavedPlan {
  const read = content.safeParse(parsed(text))
  if (!read.success) {
    const [issue] = read.error.issues
    const place = issue && issue.path.length > 0 ? ` (${issue.path.join('.')}: ${issue.message})` : ''
    throw new CommandError('plan_file_invalid', `${name} is not a plan file that this gw can read${place}.`)
  }
  const { digest, ...unsigned } = parsed(text) as { readonly digest: string }
  if (digestOf(unsigned) !== digest) {
    throw new CommandError(
      'plan_file_invalid',
      `${name} was modified after it was written: its digest does not match.`,
    )
  }
  const { expires_at: expiresAtMs, created_at: createdAtMs } = read.data
  if (expiresAtMs <= nowMs) throw new CommandError('plan_expired', `${name} expired at ${iso(expiresAtMs)}.`)
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

/** Distinguishes states with the same revision number: a digest of owners and specs. */
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
    throw new CommandError('plan_file_invalid', `${file}: ${kind} ${name} cannot be read.`, { cause: error })
  }
  if (JSON.stringify(again) !== JSON.stringify(canonical)) {
    throw new CommandError(
      'plan_file_invalid',
      `${file} was written by another gw: ${kind} ${name} means something else here.`,
    )
  }
  return { kind, name, spec: canonical, place, ...(previousName !== undefined && { previousName }) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // the schema reports it
  }
}

/** Over sorted members, so that reformatting the file does not change the digest. */
function digestOf(unsigned: object): string {
  return sha256(JSON.stringify(sortKeys(unsigned as Json)))
}

function sha256(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}
