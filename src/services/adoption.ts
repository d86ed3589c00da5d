import { CommandError } from '../base/catalogue/command.ts'
import type { Tree } from '../config/types.ts'
import { KIND_NAMES } from '../schema/kinds.ts'
import { resourceId } from '../store/resources.ts'
import type { Live } from '../store/types.ts'

/**
 * The resources (`kind/name`) that a tree takes over from the command line or REST. Resources that the tree already
 * owns are accepted, so the same command line works on every run in CI.
 * @throws {CommandError} usage if an argument is not `KIND/NAME` or the files do not declare it, not_found if the
 * resource does not exist.
 */
export function adoptions(wanted: readonly string[], tree: Tree, live: Live): ReadonlySet<string> {
  const declared = new Set(tree.resources.map(resourceId))
  const existing = new Set(live.resources.map(resourceId))
  for (const id of wanted) {
    const kind = id.slice(0, Math.max(0, id.indexOf('/')))
    if (!KIND_NAMES.some(known => known === kind)) {
      throw new CommandError('usage', `\`--adopt ${id}\` is not a resource.`, {
        hint: `Write KIND/NAME, such as key/app; kinds are ${KIND_NAMES.join(', ')}.`,
      })
    }
    if (!declared.has(id)) {
      throw new CommandError('usage', `The files do not declare ${id}, so they cannot adopt it.`, {
        hint: 'Declare it in the files; `gw export` and `gw keys show` print its current state.',
      })
    }
    if (!existing.has(id)) {
      throw new CommandError('not_found', `There is no ${id.replace('/', ' ')} to adopt.`, {
        hint: 'Leave --adopt out: an apply creates it.',
      })
    }
  }
  return new Set(wanted)
}
