import { resolveSecret, SecretError } from '../../config/secrets.ts'
import { decode } from '../../schema/kinds.ts'
import type { SecretReference } from '../../schema/scalars.ts'
import type { Live } from '../../store/types.ts'
import type { AppPorts } from '../ports.ts'
import { type Diagnosis, fine } from './types.ts'

/** Whether what the store refers to can be read from here, as `gw serve` would. Nothing of it is shown. */
export async function referenceDiagnoses(
  { resources }: Live,
  { environment }: Pick<AppPorts, 'environment'>,
): Promise<readonly Diagnosis[]> {
  const users = new Map<string, { readonly reference: SecretReference; readonly by: string[] }>()
  for (const { kind, name, spec } of resources) {
    const reference =
      kind === 'endpoint'
        ? decode(kind, spec).upstream_key
        : kind === 'key'
          ? decode(kind, spec).secret
          : undefined
    // What is kept in the store itself is found there.
    if (reference === undefined || 'stored' in reference) continue
    const identity = JSON.stringify(reference)
    const known = users.get(identity) ?? { reference, by: new Array<string>() }
    known.by.push(`${kind} ${name}`)
    users.set(identity, known)
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
      users.size === 0 ? 'Nothing refers to a secret.' : `All ${users.size} references lead to one.`,
    ),
  ]
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

/** A variable may well be set where gw serves and not in this shell. */
function missing({ message }: SecretError, { env }: SecretReference, by: readonly string[]): Diagnosis {
  const [first, ...more] = by
  const who = `${first}${more.length > 0 ? ` and ${more.length} more` : ''}`
  return {
    check: 'secrets',
    state: 'warn',
    found: `${message}, and ${who} ${more.length > 0 ? 'refer' : 'refers'} to it.`,
    mend:
      env === undefined
        ? 'Put the file there, readable by the user that gw runs as.'
        : `Set ${env} in the environment of \`gw serve\`: here is where it was looked for.`,
  }
}
