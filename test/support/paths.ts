import { INFERENCE_PATHS, type InferencePath } from '../../src/schema/paths.ts'

/** The row of a path in the table of paths. */
export function pathOf(path: string): InferencePath {
  const found = INFERENCE_PATHS.find(each => each.path === path)
  if (!found) throw new Error(`no path ${path}`)
  return found
}
