import { ApiError } from '../base/catalogue/api.ts'
import { decode, type Resource } from '../schema/kinds.ts'
import type { SecretReference } from '../schema/scalars.ts'
import { destinationOf, secretsOf } from '../schema/stored-credential.ts'

/**
 * Rejects a document that would make this machine read a secret which it does not read yet, or send one to a host to
 * which it does not go yet. Files on this machine are reviewed by people who may read its secrets anyway; a document
 * that comes over the network would turn the right to configure into the right to read files and variables.
 *
 * @throws {ApiError} reference_rejected
 */
export function assertReferencesStand(wanted: readonly Resource[], standing: readonly Resource[]): void {
  const known = new Set(standing.flatMap(usesOf).map(({ use }) => use))
  const strange = wanted.flatMap(usesOf).filter(({ use }) => !known.has(use))
  const [first] = strange
  if (!first) return
  throw new ApiError(
    'reference_rejected',
    `The ${first.resource} refers to a secret in a way that does not stand yet.`,
    {
      more: { resources: strange.map(({ resource }) => resource) },
    },
  )
}

interface Use {
  readonly resource: string
  /** The reference and where what it leads to is sent. */
  readonly use: string
}

function usesOf(resource: Resource): Use[] {
  const name = `${resource.kind} ${resource.name}`
  if (resource.kind === 'endpoint') {
    const spec = decode('endpoint', resource.spec)
    // What is kept goes to one origin only, whoever says what; and no document can say it.
    return secretsOf(resource.name, spec).flatMap(({ source }) =>
      'kept' in source ? [] : [{ resource: name, use: `${textOf(source)} to ${destinationOf(spec)}` }],
    )
  }
  if (resource.kind !== 'key') return []
  const { secret } = decode('key', resource.spec)
  return secret ? [{ resource: name, use: `${textOf(secret)} as ${resource.name}` }] : []
}

function textOf({ env, file }: SecretReference): string {
  return env === undefined ? `file ${file}` : `env ${env}`
}
