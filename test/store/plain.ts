import type { ServedState } from '../../src/schema/state.ts'

/** A state in which everything has been read, to be compared. */
export function plain(state: ServedState): ServedState {
  return {
    ...state,
    resources: state.resources.map(({ kind, name, spec, createdAtMs, account }) => ({
      kind,
      name,
      spec,
      createdAtMs,
      ...(account !== undefined && { account }),
    })),
    secrets: state.secrets.map(({ key, digest, expiresAtMs }) => ({
      key,
      digest,
      ...(expiresAtMs !== undefined && { expiresAtMs }),
    })),
  }
}
