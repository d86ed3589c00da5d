/** The number of an error: what users see. Code uses the name of the entry. */
export type ErrorNumber = `GW${number}`

/**
 * The errors of commands. GW20xx: the store · GW30xx: the configuration ·
 * GW40xx: preconditions · GW50xx: upstreams ·
 * GW60xx: usage · GW70xx: requests to a control plane · GW90xx: unexpected errors.
 */
export interface CommandFault {
  /** The code in messages, JSON and docs/errors.md. */
  readonly number: ErrorNumber
  readonly exit: ExitCode
  readonly title: string
  readonly hint: string
}

/** The exit codes of `gw`, the same in text and JSON. */
export const EXIT = {
  done: 0,
  unexpected: 1,
  changes: 2,
  invalid: 3,
  precondition: 4,
  unhealthy: 5,
  usage: 64,
  interrupted: 130,
} as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const COMMAND_FAULTS = {
  store_unavailable: {
    number: 'GW2001',
    exit: EXIT.unexpected,
    title: 'The store cannot be opened.',
    hint: 'Check --store: of SQLite the path, its permissions and the free space; of PostgreSQL the address and the server.',
  },
  store_too_new: {
    number: 'GW2002',
    exit: EXIT.unexpected,
    title: 'The store was written by a newer gw.',
    hint: 'Use the gw that wrote it, or a newer one.',
  },
  store_missing: {
    number: 'GW2003',
    exit: EXIT.precondition,
    title: 'The store does not exist yet.',
    hint: 'Create it with `gw apply`, or correct --store.',
  },
  store_outdated: {
    number: 'GW2004',
    exit: EXIT.unexpected,
    title: 'The store was written by an older gw.',
    hint: 'Bring it up to date: `gw apply` and `gw serve` do so when they open it.',
  },
  store_locked: {
    number: 'GW2005',
    exit: EXIT.unexpected,
    title: 'The store is locked by another process.',
    hint: 'Try again; if the error persists, find the process that has it open for writing.',
  },
  store_in_use: {
    number: 'GW2006',
    exit: EXIT.precondition,
    title: 'Gateways serve this store.',
    hint: 'Stop every gateway of this store first.',
  },
  ledger_inconsistent: {
    number: 'GW2007',
    exit: EXIT.unexpected,
    title: 'The sums of the ledger do not match.',
    hint: 'Keep a copy of the database, find the other program that wrote to it, and report it; nothing was changed.',
  },
  master_key_unusable: {
    number: 'GW2008',
    exit: EXIT.unexpected,
    title: 'The master key of stored secrets cannot be used.',
    hint: 'Set GW_MASTER_KEY to the key that sealed them, or restore its file beside the store, with mode 0600.',
  },
  backup_damaged: {
    number: 'GW2009',
    exit: EXIT.precondition,
    title: 'The file is not an intact store of gw.',
    hint: 'Use another backup, and keep the damaged file; nothing was changed.',
  },
  journal_damaged: {
    number: 'GW2010',
    exit: EXIT.unexpected,
    title: 'The journal of the ledger is damaged.',
    hint: 'If the store was restored from a copy, move its folder `….ledger` away: the rows in it are newer than the copy. Else restore the folder from a backup.',
  },
  archive_damaged: {
    number: 'GW2011',
    exit: EXIT.precondition,
    title: 'The file is not an intact archive of the ledger.',
    hint: 'Use another copy of the file; nothing was changed.',
  },
  archive_unknown: {
    number: 'GW2012',
    exit: EXIT.precondition,
    title: 'The file is not an archive of this store, or it was changed.',
    hint: 'See `gw ledger archives` for the files and their digests, and use an unchanged copy; nothing was changed.',
  },
  gateway_alive: {
    number: 'GW2013',
    exit: EXIT.precondition,
    title: 'The gateway may be alive.',
    hint: 'End its process; others take over what it has by themselves. Nothing was changed.',
  },
  configuration_invalid: {
    number: 'GW3001',
    exit: EXIT.invalid,
    title: 'The configuration is not valid.',
    hint: 'Correct the listed problems; nothing was changed.',
  },
  not_servable: {
    number: 'GW3002',
    exit: EXIT.invalid,
    title: 'A gateway could not serve the result.',
    hint: 'Correct the cause in the message; nothing was changed.',
  },
  plan_file_invalid: {
    number: 'GW3003',
    exit: EXIT.invalid,
    title: 'The plan file cannot be applied as it is.',
    hint: 'Create a new one with `gw plan -o`, and apply that; nothing was changed.',
  },
  revision_changed: {
    number: 'GW4001',
    exit: EXIT.precondition,
    title: 'The configuration has changed since the plan was made.',
    hint: 'Run the command again to plan against the new revision; nothing was changed.',
  },
  confirmation_required: {
    number: 'GW4002',
    exit: EXIT.precondition,
    title: 'The change needs a confirmation, and the input is not a terminal.',
    hint: 'Review with `gw diff`, then pass --yes.',
  },
  not_confirmed: {
    number: 'GW4003',
    exit: EXIT.precondition,
    title: 'The change was not confirmed.',
    hint: 'Nothing was changed.',
  },
  owned_by_other: {
    number: 'GW4004',
    exit: EXIT.precondition,
    title: 'A resource of this name belongs to another owner.',
    hint: 'Rename yours, or take it over with `--adopt KIND/NAME` and remove it from the files of the other set; nothing was changed.',
  },
  not_found: {
    number: 'GW4005',
    exit: EXIT.precondition,
    title: 'No resource has this name.',
    hint: 'List the existing names and correct this one.',
  },
  has_secret: {
    number: 'GW4006',
    exit: EXIT.precondition,
    title: 'The key has a secret already.',
    hint: 'Replace it with `gw keys rotate NAME`.',
  },
  disabled_in_file: {
    number: 'GW4007',
    exit: EXIT.precondition,
    title: 'The key is disabled in its configuration file.',
    hint: 'Set `enabled: true` at the place in the message, and apply.',
  },
  address_unavailable: {
    number: 'GW4008',
    exit: EXIT.precondition,
    title: 'The gateway cannot listen on the address.',
    hint: 'Stop the process that uses it, or choose another address of this machine and a port from 1024 on.',
  },
  nothing_to_serve: {
    number: 'GW4009',
    exit: EXIT.precondition,
    title: 'No revision in the store can be served.',
    hint: 'Correct the cause in the message and run `gw apply`.',
  },
  still_referenced: {
    number: 'GW4010',
    exit: EXIT.precondition,
    title: 'The change would leave a reference to a missing resource.',
    hint: 'Remove the reference in the message first; nothing was changed.',
  },
  reference_taken: {
    number: 'GW4011',
    exit: EXIT.precondition,
    title: 'The reference belongs to another credit or debit.',
    hint: 'Use a new reference for a new payment; nothing was booked.',
  },
  balance_too_low: {
    number: 'GW4012',
    exit: EXIT.precondition,
    title: 'The balance does not cover the debit.',
    hint: 'Debit less, or credit the tenant first; nothing was booked.',
  },
  already_exists: {
    number: 'GW4013',
    exit: EXIT.precondition,
    title: 'A resource of this name exists already.',
    hint: 'Choose another name, or delete the existing resource first; nothing was changed.',
  },
  maintenance_in_file: {
    number: 'GW4014',
    exit: EXIT.precondition,
    title: 'The configuration keeps the gateway in maintenance.',
    hint: 'Set `maintenance.enabled: false` in its settings, and apply.',
  },
  too_many_deletes: {
    number: 'GW4015',
    exit: EXIT.precondition,
    title: 'The change deletes more resources than allowed.',
    hint: 'Review `gw diff`; if the deletions are intended, pass `--allow-deletes` with their number. Nothing was changed.',
  },
  not_logged_in: {
    number: 'GW4016',
    exit: EXIT.precondition,
    title: 'No usable log-in for this control plane.',
    hint: 'Log in with `gw login --url URL --user NAME`, or put a token into GW_TOKEN.',
  },
  last_admin: {
    number: 'GW4017',
    exit: EXIT.precondition,
    title: 'The change would leave no administrator who can log in.',
    hint: 'Create or enable another administrator first; nothing was changed.',
  },
  file_exists: {
    number: 'GW4018',
    exit: EXIT.precondition,
    title: 'A file to be written exists already.',
    hint: 'Name another directory, or move the file away; nothing was written.',
  },
  plan_expired: {
    number: 'GW4019',
    exit: EXIT.precondition,
    title: 'The plan has expired.',
    hint: 'Plan again with `gw plan -o`; `--expires` sets how long a plan is valid. Nothing was changed.',
  },
  tests_failed: {
    number: 'GW4020',
    exit: EXIT.precondition,
    title: 'The configuration does not pass its tests.',
    hint: 'Correct the configuration or the test that the failures name.',
  },
  probe_failed: {
    number: 'GW5001',
    exit: EXIT.unhealthy,
    title: 'The probe of an endpoint failed.',
    hint: 'Correct the cause in the message, pass --skip-probe, or set `skip_probe: true` for an endpoint that cannot be probed; nothing was changed.',
  },
  not_served: {
    number: 'GW5002',
    exit: EXIT.unhealthy,
    title: 'The revision is applied, but a gateway does not serve it.',
    hint: 'See the log and `/health` of the gateway that the message names; until then it serves the previous revision.',
  },
  not_restarted: {
    number: 'GW5003',
    exit: EXIT.unhealthy,
    title: 'Workers were not replaced; those that are left serve on.',
    hint: 'The log of `gw serve --workers` has the cause. A gateway without --workers is stopped and started again.',
  },
  usage: {
    number: 'GW6001',
    exit: EXIT.usage,
    title: 'Wrong usage.',
    hint: 'See `gw --help` and `gw COMMAND --help`.',
  },
  control_plane_unreachable: {
    number: 'GW7001',
    exit: EXIT.unexpected,
    title: 'The control plane cannot be reached.',
    hint: 'Check --url, which names the control plane, and log in with `gw login`, or put a token into GW_TOKEN.',
  },
  node_unreachable: {
    number: 'GW7002',
    exit: EXIT.unexpected,
    title: 'The gateway cannot be reached by this node.',
    hint: 'Check --server: it is the address of `gw serve --node-listen`; with a private authority pass --ca.',
  },
  node_rejected: {
    number: 'GW7003',
    exit: EXIT.precondition,
    title: 'The gateway rejects this node.',
    hint: 'Declare it under `nodes`, or join again with a new token of `gw nodes token NAME`, after `gw node leave`.',
  },
  unexpected: {
    number: 'GW9001',
    exit: EXIT.unexpected,
    title: 'An unexpected error.',
    hint: 'Run again with `GW_DEBUG=1` for the cause, and report it.',
  },
  interrupted: {
    number: 'GW9002',
    exit: EXIT.interrupted,
    title: 'Interrupted.',
    hint: 'Nothing was changed.',
  },
} as const satisfies Record<string, CommandFault>

export type CommandCode = keyof typeof COMMAND_FAULTS

/** An error that an operator sees, with the exit code of its catalogue entry. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly code: CommandCode
  /** The code that users see. */
  readonly number: ErrorNumber
  /** More specific than the hint of the catalogue, if given. */
  readonly hint: string
  constructor(code: CommandCode, message?: string, more: { hint?: string; cause?: unknown } = {}) {
    super(message ?? COMMAND_FAULTS[code].title, { cause: more.cause })
    this.code = code
    this.number = COMMAND_FAULTS[code].number
    this.hint = more.hint ?? COMMAND_FAULTS[code].hint
  }
}
