/** The reasons of `/health` that is not `ok`: each line of `reasons` is `code: sentence`, with a code from here. */
export interface HealthReason {
  readonly title: string
  readonly hint: string
}

export const HEALTH_REASONS = {
  starting: {
    title: 'No revision is served yet.',
    hint: 'Wait; if the reason persists, the log of `gw serve` has the cause.',
  },
  maintenance: {
    title: 'Maintenance is on: inference answers 503 with the message that follows.',
    hint: '`gw maintenance off`, or `maintenance.enabled: false` in the settings, and apply.',
  },
  reload_rejected: {
    title: 'The newest revision cannot be served; the previous one still is.',
    hint: 'Correct the cause in the reason and apply again, or `gw rollback`. A variable of `{ env: NAME }` is read when `gw serve` starts: set it and restart, or use `{ file: /path }`, which is read again when it changes.',
  },
  files_rejected: {
    title: 'The files that `gw serve -c` follows cannot be applied; the previous state is served.',
    hint: '`gw validate -c` and `gw diff -c` with the same path show all problems; save the corrected files, or send SIGHUP.',
  },
  files_unwatched: {
    title: 'The files that `gw serve -c --watch` follows cannot be watched: changes are not detected.',
    hint: 'Send SIGHUP after a change, or raise the limit of file watches of the system, and restart.',
  },
  drift: {
    title:
      'The store differs from the followed files: a rollback, or an apply of other files, came after them.',
    hint: 'Update the files: their next save, SIGHUP or a restart applies them, and reverts the other change. `gw diff -c` with the same path shows that difference.',
  },
  ledger_unwritable: {
    title: 'Charges cannot be written, not even to the journal, so inference answers 503.',
    hint: 'Check the disk of the store and of its journal: full or failing; the log has the cause.',
  },
  ledger_behind: {
    title:
      'The store cannot be written: charges are kept in the journal. Prepaid calls get 503, with PostgreSQL all billed calls.',
    hint: 'Check PostgreSQL, or the disk of the store: full, failing, or locked by another program; the log has the cause. Reports, balances and quotas of other processes are as old as the problem.',
  },
  workers_missing: {
    title: 'Workers of `gw serve --workers` have ended, and others that take their place do not serve yet.',
    hint: 'Wait; if the reason persists, the log of `gw serve` has the cause.',
  },
  no_healthy_endpoint: {
    title: 'Every endpoint that could serve the named model is unhealthy.',
    hint: '`gw probe` shows the cause and a hint.',
  },
} as const satisfies Record<string, HealthReason>

export type HealthCode = keyof typeof HEALTH_REASONS

/** One line of `reasons`. */
export function healthReason(code: HealthCode, sentence: string): string {
  return `${code}: ${sentence}`
}

/** The code of such a line. */
export function codeOfReason(reason: string): string {
  return reason.slice(0, reason.indexOf(':'))
}
