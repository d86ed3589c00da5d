/** Why `/health` is not `ok`: each line of its `reasons` is a code from here and a sentence, `code: sentence`. */
export interface HealthReason {
  readonly title: string
  readonly hint: string
}

export const HEALTH_REASONS = {
  starting: {
    title: 'No revision is served yet.',
    hint: 'Wait; where it stays, the log of `gw serve` says what it waits for.',
  },
  maintenance: {
    title: 'Maintenance is on: inference answers 503 with the message that follows.',
    hint: '`gw maintenance off`, or `maintenance.enabled: false` in the settings, and apply.',
  },
  reload_rejected: {
    title: 'The newest revision cannot be served: the one before it still is.',
    hint: 'Correct what the reason names and apply again, or `gw rollback`. A variable of `{ env: NAME }` is read when `gw serve` starts: set it and restart, or use `{ file: /path }`, which is read again when it changes.',
  },
  files_rejected: {
    title: 'The files that `gw serve -c` follows cannot be applied: what was applied before is served.',
    hint: '`gw validate -c` and `gw diff -c` with the same path say everything that is wrong; save the corrected files, or send SIGHUP.',
  },
  files_unwatched: {
    title: 'The files that `gw serve -c --watch` follows cannot be watched: a save is not noticed.',
    hint: 'Send SIGHUP after a change, or raise the number of watches that the system allows, and restart.',
  },
  drift: {
    title:
      'The store is not what the followed files say: a rollback, or an apply of other files, came after them.',
    hint: 'Bring the files to what is meant: their next save, SIGHUP or a restart applies them, and undoes the other change. `gw diff -c` with the same path shows what that would be.',
  },
  ledger_unwritable: {
    title: 'Bills cannot be written, so inference answers 503.',
    hint: 'Look at the disk of the store: full, failing, or locked by another program; the log says which.',
  },
  no_healthy_endpoint: {
    title: 'Every endpoint that could serve the named model is unhealthy.',
    hint: '`gw probe` names the cause and what to change.',
  },
} as const satisfies Record<string, HealthReason>

export type HealthCode = keyof typeof HEALTH_REASONS

/** One line of `reasons`. */
export function healthReason(code: HealthCode, sentence: string): string {
  return `${code}: ${sentence}`
}
