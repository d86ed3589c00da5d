import type { ConfigCode } from '../base/catalogue/config.ts'
import type { Resource } from '../schema/kinds.ts'

/** A place in a file; line and column count from 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** A problem of a configuration, ready for display. */
export interface Problem {
  readonly code: ConfigCode
  readonly severity: 'error' | 'warning'
  /** The error, with the path of the field; never a secret. */
  readonly message: string
  readonly place: Place
  /** The other place of a conflict. */
  readonly other?: Place
  /** A few lines around the place with a marker, secrets masked. */
  readonly frame?: string
  /** A suggestion or a fix, if it is more specific than the catalogue's hint. */
  readonly hint?: string
}

/** A declared resource in canonical form. */
export interface DeclaredResource extends Resource {
  readonly place: Place
  /** Its name before a rename. */
  readonly previousName?: string
}

/** A valid tree of files. */
export interface Tree {
  readonly set: string
  /** Sorted by kind and name. */
  readonly resources: readonly DeclaredResource[]
  readonly files: readonly string[]
}

/** Either a tree, perhaps with warnings, or all problems at once. */
export type Loaded =
  | { readonly ok: true; readonly tree: Tree; readonly problems: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** The variables for `${GW_…}`. `null`: each use is an error, even one with a default. */
export type Variables = Readonly<Record<string, string | undefined>> | null

/** The environment of the loader. */
export interface LoadPorts {
  /** Absolute base path of relative paths; by default the working directory of the process. */
  readonly folder?: string
  readonly environment: Variables
  /** Reads `-c -`. */
  readonly readStdin: () => Promise<Buffer>
  /**
   * Names that exist outside of this tree, as `kind/name`: references to them are valid. Empty if a tree is validated
   * on its own.
   */
  readonly known: ReadonlySet<string>
}
