import process from 'node:process'

/** PostgreSQL must not run as root. This user owns nothing else. */
const UNPRIVILEGED = 65_534
/** Who runs servers of tests. */
export const POSTGRES_USER: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}
