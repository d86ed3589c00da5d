import { CommandError } from '../../base/catalogue/command.ts'
import type { SourceLine, StoredResource } from '../../store/types.ts'
import { ownerName, subject } from './subject.ts'
import type { Conflict, ProbeFailure } from './types.ts'

/** A plan that would change a resource of another owner (GW4004) or break a reference (GW4010). */
export class ConflictError extends CommandError {
  readonly conflicts: readonly Conflict[]
  constructor(code: 'GW4004' | 'GW4010', conflicts: readonly Conflict[]) {
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

/** New or changed endpoints that do not answer (GW5001). */
export class ProbeError extends CommandError {
  readonly failures: readonly ProbeFailure[]
  constructor(failures: readonly ProbeFailure[]) {
    const messages = failures.map(
      ({ endpoint, model, cause, hint }) => `The endpoint ${endpoint} (${model}): ${cause} ${hint}`,
    )
    super('GW5001', lines('probes failed', messages))
    this.failures = failures
  }
}

/** A manual change of a resource that a configuration file declares (GW4004). */
export class ManagedError extends CommandError {
  readonly place: SourceLine | undefined
  constructor(resource: Pick<StoredResource, 'kind' | 'name' | 'owner' | 'set' | 'place'>) {
    const { kind, name, place } = resource
    const location = place ? ` in ${place.file}:${place.line}` : ' in the files of its set'
    const now = kind === 'key' ? ` \`gw keys revoke ${name}\` ends its secrets now.` : ''
    super('GW4004', `${capital(subject(resource))} belongs to ${ownerName(resource)}.`, {
      hint: `Change or remove it${location}, and apply.${now}`,
    })
    this.place = place
  }
}

/** A new resource that refers to a missing one (GW4005). */
export class UnknownReferenceError extends CommandError {
  /** The field with the reference. */
  readonly field: string
  constructor(field: string, name: string, similar: readonly string[]) {
    super(
      'GW4005',
      `There is no ${field} ${name}.`,
      similar.length > 0 ? { hint: `Did you mean ${similar.join(' or ')}?` } : {},
    )
    this.field = field
  }
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}

function lines(noun: string, messages: readonly string[]): string {
  const [only] = messages
  if (messages.length === 1 && only !== undefined) return only
  return [`${messages.length} ${noun}:`, ...messages.map(message => `  ${message}`)].join('\n')
}
