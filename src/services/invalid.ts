import { ApiError, type FieldFault } from '../base/catalogue/api.ts'
import { CommandError } from '../base/catalogue/command.ts'
import { pluralize } from '../base/pluralize.ts'
import type { Problem } from '../config/types.ts'

/** Invalid configuration files, with every problem found, warnings included. */
export class ConfigurationInvalid extends CommandError {
  readonly problems: readonly Problem[]
  constructor(problems: readonly Problem[]) {
    const errors = problems.filter(problem => problem.severity === 'error')
    const files = new Set(errors.map(problem => problem.place.file))
    super(
      'configuration_invalid',
      `The configuration is not valid: ${pluralize(errors.length, 'error')} in ${pluralize(files.size, 'file')}.`,
    )
    this.problems = problems
  }
}

/** An invalid request: the error names the first invalid field. */
export function invalid(errors: readonly FieldFault[]): ApiError {
  const [first] = errors
  const place = first?.pointer ?? first?.parameter ?? first?.header
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  const detail = first ? `${place ? `${place}: ` : ''}${first.detail}${more}` : undefined
  return new ApiError('invalid_request', detail, { errors })
}
