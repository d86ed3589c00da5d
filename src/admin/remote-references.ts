import { ApiError } from '../base/catalogue/api.ts'
import { decode, type Resource } from '../schema/kinds.ts'
import type { SecretReference } from '../schema/scalars.ts'
import { destinationOf, secretsOf } from '../schema/stored-credential.ts'

/**
 * Rejects a document that would make this machine read a new secret, or send a known one to a new host. Files on this
 * machine are reviewed by people who can read its secrets anyway; a document from the network would turn the right to
 * configure into the right to read files and variables.
 *
 * @throws {ApiError} reference_rejected
 */
export function assertKnownReferences(wanted: readonly Resource[], existing: readonly Resource[]): void {
  const known = new Set(existing.flatMap(usesOf).map(({ use }) => use))
  const unknown = wanted.flatMap(usesOf).filter(({ use }) => !known.has(use))
  const [first] = unknown
  if (!first) return
  throw new ApiError('reference_rejected', `The ${first.resource} has a new use of a secret.`, {
    more: { resources: unknown.map(({ resource }) => resource) },
  })
}

interface Use {
  readonly resource: string
  /** The reference, and the destination of its secret. */
  readonly use: string
}

function usesOf(resource: Resource): Use[] {
  const name = `${resource.kind} ${resource.name}`
  if (resource.kind === 'endpoint') {
    const spec = decode('endpoint', resource.spec)
    // A stored credential is sent to one origin only, and a document cannot contain one.
    return secretsOf(resource.name, spec).flatMap(({ field, source }) =>
      'kept' in source ? [] : [{ resource: name, use: `${textOf(source)} to ${destinationOf(spec, field)}` }],
    )
  }
  if (resource.kind !== 'key') return []
  const { secret } = decode('key', resource.spec)
  return secret ? [{ resource: name, use: `${textOf(secret)} as ${resource.name}` }] : []
}

function textOf({ env, file }: SecretReference): string {
  return env === undefined ? `file ${file}` : `env ${env}`
}
