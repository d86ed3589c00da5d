import process from 'node:process'

/** PostgreSQL must not run as root; `nobody` owns nothing else. */
const NOBODY = 65_534
/** Who runs servers of tests. */
export const POSTGRES_USER: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
