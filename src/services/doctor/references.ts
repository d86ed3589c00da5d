import { resolveSecret, SecretError } from '../../config/secrets.ts'
import { decode, type Resource } from '../../schema/kinds.ts'
import type { SecretReference } from '../../schema/scalars.ts'
import { secretsOf } from '../../schema/stored-credential.ts'
import type { Live } from '../../store/types.ts'
import type { AppPorts } from '../context.ts'
import { type Diagnosis, fine } from './types.ts'

/** Checks that every secret reference of the store can be read from here, as `gw serve` would. Shows no secret. */
export async function referenceDiagnoses(
  { resources }: Live,
  { environment }: Pick<AppPorts, 'environment'>,
): Promise<readonly Diagnosis[]> {
  const users = new Map<string, { readonly reference: SecretReference; readonly by: string[] }>()
  for (const resource of resources) {
    for (const reference of referencesOf(resource)) {
      const identity = JSON.stringify(reference)
      const known = users.get(identity) ?? { reference, by: new Array<string>() }
      known.by.push(`${resource.kind} ${resource.name}`)
      users.set(identity, known)
    }
  }
  const diagnoses: Diagnosis[] = []
  for (const { reference, by } of users.values()) {
    const fault = await faultOf(reference, environment)
    if (fault) diagnoses.push(missing(fault, reference, by))
  }
  if (diagnoses.length > 0) return diagnoses
  return [
    fine(
      'secrets',
      users.size === 0 ? 'There are no secret references.' : `All ${users.size} references can be read.`,
    ),
  ]
}

/** Credentials stored in the database itself are skipped. */
function referencesOf({ kind, name, spec }: Resource): readonly SecretReference[] {
  if (kind === 'key') return [decode(kind, spec).secret].filter(secret => secret !== undefined)
  if (kind !== 'endpoint') return []
  return secretsOf(name, decode(kind, spec)).flatMap(({ source }) => ('kept' in source ? [] : [source]))
}

async function faultOf(
  reference: SecretReference,
  environment: AppPorts['environment'],
): Promise<SecretError | undefined> {
  try {
    await resolveSecret(reference, { environment })
    return undefined
  } catch (error) {
    if (error instanceof SecretError) return error
    throw error
  }
}

/** A variable may be set for `gw serve` and missing in this shell. */
function missing({ message }: SecretError, { env }: SecretReference, by: readonly string[]): Diagnosis {
  const [first, ...more] = by
  const users = `${first}${more.length > 0 ? ` and ${more.length} more` : ''}`
  return {
    check: 'secrets',
    state: 'warn',
    found: `${message}, and ${users} ${more.length > 0 ? 'refer' : 'refers'} to it.`,
    hint:
      env === undefined
        ? 'Put the file there, readable by the user that gw runs as.'
        : `Set ${env} in the environment of \`gw serve\`; this check looked in the environment of this shell.`,
  }
}
