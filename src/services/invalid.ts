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
