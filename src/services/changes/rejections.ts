import { CommandError } from '../../base/catalogue/command.ts'
import type { Kind } from '../../schema/kinds.ts'
import type { Ownership, SourceLine, StoredResource } from '../../store/types.ts'
import type { Conflict, ProbeFailure } from './types.ts'

/** A resource in a sentence: `the endpoint openai`, `the binding of gpt-4o to openai`, `the settings`. */
export function subject({ kind, name }: { readonly kind: Kind; readonly name: string }): string {
  if (kind === 'settings') return 'the settings'
  return `the ${kind} ${kind === 'binding' ? `of ${name.replace(' ', ' to ')}` : name}`
}

/** `the key app belongs to REST`, without a full stop. */
export function belonging(
  resource: { readonly kind: Kind; readonly name: string },
  owner: Ownership,
): string {
  return `${subject(resource)} ${resource.kind === 'settings' ? 'belong' : 'belongs'} to ${ownerName(owner)}`
}

/** An owner in a sentence: `the set team-b (b/models.yaml:12)`, `the command line`, `REST`. */
export function ownerName({ owner, set, place }: Ownership): string {
  if (owner === 'cli') return 'the command line'
  if (owner === 'rest') return 'REST'
  return `the set ${set ?? 'default'}${place ? ` (${place.file}:${place.line})` : ''}`
}

/**
 * A plan that would change a resource of another owner (owned_by_other), break a reference (still_referenced), or rename a
 * resource to the name of another one (already_exists).
 */
export class ConflictError extends CommandError {
  readonly conflicts: readonly Conflict[]
  constructor(
    code: 'owned_by_other' | 'still_referenced' | 'already_exists',
    conflicts: readonly Conflict[],
  ) {
    super(
      code,
      lines(
        'conflicts',
        conflicts.map(conflict => conflict.message),
      ),
    )
    this.conflicts = conflicts
  }
}

/** New or changed endpoints that do not answer (probe_failed). */
export class ProbeError extends CommandError {
  readonly failures: readonly ProbeFailure[]
  constructor(failures: readonly ProbeFailure[]) {
    const messages = failures.map(
      ({ endpoint, model, cause, hint }) => `The endpoint ${endpoint} (${model}): ${cause} ${hint}`,
    )
    super('probe_failed', lines('probes failed', messages))
    this.failures = failures
  }
}

/** A manual change of a resource that a configuration file declares (owned_by_other). */
export class ManagedError extends CommandError {
  readonly place: SourceLine | undefined
  constructor(resource: Pick<StoredResource, 'kind' | 'name' | 'owner' | 'set' | 'place'>) {
    const { kind, name, place } = resource
    const location = place ? ` in ${place.file}:${place.line}` : ' in the files of its set'
    const now = kind === 'key' ? ` \`gw keys revoke ${name}\` ends its secrets now.` : ''
    super('owned_by_other', `${capital(belonging(resource, resource))}.`, {
      hint: `Change or remove it${location}, and apply.${now}`,
    })
    this.place = place
  }
}

/** A new resource that refers to a missing one (not_found). */
export class UnknownReferenceError extends CommandError {
  /** The field with the reference. */
  readonly field: string
  constructor(field: string, name: string, similar: readonly string[]) {
    super(
      'not_found',
      `There is no ${field} ${name}.`,
      similar.length > 0 ? { hint: `Did you mean ${similar.join(' or ')}?` } : {},
    )
    this.field = field
  }
}

/** The sentence with an upper-case first letter. */
export function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}

function lines(noun: string, messages: readonly string[]): string {
  const [only] = messages
  if (messages.length === 1 && only !== undefined) return only
  return [`${messages.length} ${noun}:`, ...messages.map(message => `  ${message}`)].join('\n')
}
