import { CommandError } from '../base/catalogue/command.ts'
import type { Conflict, ProbeFailure } from './types.ts'

/** A plan that would take something from another owner (GW4004) or leave a reference to nothing (GW4010). */
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

/** Endpoints that an apply would bring in and that do not answer (GW5001). */
export class ProbeError extends CommandError {
  readonly failures: readonly ProbeFailure[]
  constructor(failures: readonly ProbeFailure[]) {
    const messages = failures.map(({ endpoint, cause, mend }) => `The endpoint ${endpoint}: ${cause} ${mend}`)
    super('GW5001', lines('endpoints failed', messages))
    this.failures = failures
  }
}

function lines(noun: string, messages: readonly string[]): string {
  const [only] = messages
  if (messages.length === 1 && only !== undefined) return only
  return [`${messages.length} ${noun}:`, ...messages.map(message => `  ${message}`)].join('\n')
}
