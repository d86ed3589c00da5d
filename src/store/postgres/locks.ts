/**
 * Advisory locks of a database, which end with their transaction: pgbouncer gives the session to others after it. Both
 * numbers together are the key of a lock.
 */
export const OF_GW = 0x6777
export const LOCKS = { migrations: 1, writes: 2, folds: 3, partitions: 4 } as const

const LOCK_TIMEOUT = '5s'
/** A process that was stopped in a transaction must not lock the others out for ever. */
const IDLE_TIMEOUT = '60s'

/**
 * Waits for a lock, at most five seconds (error 55P03): the first statement of a transaction, which is synced, whatever the
 * server's default is.
 */
export function lockStatement(lock: keyof typeof LOCKS): string {
  // The settings are evaluated before the lock.
  return `select set_config('lock_timeout', '${LOCK_TIMEOUT}', true),
    set_config('idle_in_transaction_session_timeout', '${IDLE_TIMEOUT}', true),
    set_config('synchronous_commit', 'on', true),
    pg_advisory_xact_lock(${OF_GW}, ${LOCKS[lock]})`
}
