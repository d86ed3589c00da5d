import type { ConfigCode } from '../base/catalogue/config.ts'
import type { Resource } from '../schema/kinds.ts'

/** A place in a file; line and column count from 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** One thing that is wrong with a configuration, ready to be shown. */
export interface Problem {
  readonly code: ConfigCode
  readonly severity: 'error' | 'warning'
  /** What is wrong here, with the field's path; never a secret. */
  readonly message: string
  readonly place: Place
  /** The other place, where two collide. */
  readonly other?: Place
  /** A few lines around the place with a marker under it, secrets masked. */
  readonly frame?: string
  /** A did-you-mean, or how to hint it where that is more particular than the catalogue's. */
  readonly hint?: string
}

/** A resource as a file declares it, in canonical form. */
export interface DeclaredResource extends Resource {
  readonly place: Place
  /** The name that it had until now. */
  readonly previousName?: string
}

/** A whole tree of files, valid. */
export interface Tree {
  readonly set: string
  /** Sorted by kind and name. */
  readonly resources: readonly DeclaredResource[]
  readonly files: readonly string[]
}

/** Either a tree (and perhaps warnings), or every problem at once. */
export type Loaded =
  | { readonly ok: true; readonly tree: Tree; readonly problems: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** What the world outside lends to the loader. */
export interface LoadPorts {
  /** Absolute path from which relative ones count; the working directory of the process by default. */
  readonly folder?: string
  /** Variables for `${GW_…}`. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Reads `-c -`. */
  readonly readStdin: () => Promise<Buffer>
  /**
   * Names that exist outside this tree, as `kind/name`: a reference to one of them is not an error. Empty
   * where a tree is validated by itself.
   */
  readonly known: ReadonlySet<string>
}
