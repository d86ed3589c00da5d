import { editedFile, type ResourceEdit, unifiedDiff } from '../../config/edit.ts'
import { render } from '../../config/render.ts'
import type { OperationOf } from '../../schema/api/operations.ts'
import type { AnswerOf } from '../../schema/api/types.ts'
import type { CanonicalSpec, Kind } from '../../schema/kinds.ts'
import { compareResources } from '../../store/resources.ts'
import type { Live, Owner, StoredResource } from '../../store/types.ts'
import { planDocument } from '../configuration.ts'
import { changesBetween } from './between.ts'
import { blastRadius } from './blast/radius.ts'
import type { RecentUse } from './blast/use.ts'
import { assertReferences } from './ownership.ts'
import type { Plan } from './types.ts'
import { planWarnings } from './warnings.ts'

/** The preview of a change of one resource. */
export type ChangePreview = AnswerOf<OperationOf<'preview_change'>>

export interface WantedChange {
  readonly kind: Exclude<Kind, 'settings'>
  readonly name: string
  /** Absent: the resource is deleted. */
  readonly after?: CanonicalSpec
}

export interface PreviewPorts {
  readonly use: RecentUse
  /** The text of a configuration file of this machine; undefined if it cannot be read. */
  readonly readFile: (path: string) => Promise<string | undefined>
  /** The commit that a revision was applied from. */
  readonly commitOf: (revision: number) => Promise<string | undefined>
}

/**
 * The plan of a change to one resource of any owner. For a resource of configuration files also the diff of the file that
 * makes the change.
 * @throws {ConflictError} still_referenced
 */
export async function previewChange(
  live: Live,
  { kind, name, after: spec }: WantedChange,
  { use, readFile, commitOf }: PreviewPorts,
): Promise<ChangePreview> {
  const old = live.resources.find(resource => resource.kind === kind && resource.name === name)
  const made = spec && changed(live, kind, name, spec, old)
  const after = [...live.resources.filter(resource => resource !== old), ...(made ? [made] : [])].sort(
    compareResources,
  )
  assertReferences(after, { resources: [] })
  const { changes, counts } = changesBetween(live.resources, after)
  const plan: Plan = {
    base: live.head.revision,
    set: old?.set ?? '',
    changes,
    renames: [],
    dependents: [],
    counts,
    warnings: planWarnings(live, after, made ? [made] : [], old ? [old] : []),
    unmanaged: { otherSets: 0, cli: 0, rest: 0 },
  }
  const document = planDocument(plan, await blastRadius(live, after, [], use))
  const edit = { kind, name, ...(old && { before: old.spec }), ...(spec && { after: spec }) }
  const commit = old?.owner === 'config' ? await commitOf(old.updatedRevision) : undefined
  return {
    plan: document,
    ...(old && { owner: old.owner }),
    ...(commit !== undefined && { git_commit: commit }),
    ...(old?.owner === 'config' && (await patchOf(edit, old, readFile))),
  }
}

function changed(
  live: Live,
  kind: Kind,
  name: string,
  spec: CanonicalSpec,
  old: StoredResource | undefined,
): StoredResource {
  if (old) return { ...old, spec }
  const { revision } = live.head
  const owner: Owner = 'rest'
  return {
    kind,
    name,
    spec,
    owner,
    createdRevision: revision,
    updatedRevision: revision,
    createdAtMs: live.atMs,
  }
}

/** The diff of the file that declares the resource, or of the resource alone if that file is not on this machine. */
async function patchOf(
  edit: ResourceEdit,
  { set = '', place }: StoredResource,
  readFile: PreviewPorts['readFile'],
): Promise<Pick<ChangePreview, 'set' | 'file' | 'line' | 'patch' | 'patches_file'>> {
  const text = place && (await readFile(place.file))
  const made = text === undefined ? undefined : editedFile(text, edit)
  const file = place?.file ?? `${edit.name}.yaml`
  const alone = (spec: CanonicalSpec | undefined) =>
    spec ? render(set, [{ kind: edit.kind, name: edit.name, spec }]) : ''
  return {
    set,
    ...(place && { file: place.file, line: place.line }),
    patch:
      text !== undefined && made !== undefined
        ? unifiedDiff(file, text, made)
        : unifiedDiff(file, alone(edit.before), alone(edit.after)),
    patches_file: made !== undefined,
  }
}
