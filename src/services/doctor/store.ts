import { CommandError } from '../../base/catalogue/command.ts'
import { iso } from '../../base/iso.ts'
import type { StoredCredential } from '../../schema/stored-credential.ts'
import { inspectStore, type StoreFile } from '../../store/inspect.ts'
import { MasterKey } from '../../store/master-key.ts'
import { openStore } from '../../store/open.ts'
import { useOf } from '../../store/stored-credentials.ts'
import type { Live, Revision } from '../../store/types.ts'
import { isPostgresUrl } from '../../store/url.ts'
import type { AppPorts } from '../context.ts'
import { findSecret, type MissingSecret } from '../secrets.ts'
import { type Diagnosis, fine } from './types.ts'

type StorePorts = Pick<AppPorts, 'clock' | 'cwd' | 'environment'>

/** The state of a readable store. */
export interface StoredResources {
  readonly live: Live
  readonly newest?: Revision
}

const MIB = 1_048_576
/** Four times the WAL size limit of SQLite: some process reads for long, or one was killed. */
const LARGE_WAL_BYTES = 256 * MIB
const CLOCK_SLACK_MS = 60_000

/** Checks that the store is usable, and returns its state. */
export async function storeDiagnoses(
  url: string,
  ports: StorePorts,
): Promise<{ readonly diagnoses: readonly Diagnosis[]; readonly standing?: StoredResources }> {
  if (isPostgresUrl(url)) return serverDiagnoses(url, ports)
  const file = await diagnosed('store', () => inspectStore(url, ports.cwd))
  if (file !== undefined && 'check' in file) return { diagnoses: [file] }
  if (file === undefined) return { diagnoses: [NO_STORE] }
  const opened = await diagnosed('store', () => standingIn(url, ports))
  const about = fileDiagnoses(file)
  if (opened !== undefined && 'check' in opened) return { diagnoses: [opened, ...about] }
  const { live } = opened
  const found = `${file.path} opens: revision ${live.head.revision}, ${live.resources.length} resources, ${Math.round(file.fileBytes / MIB)} MiB.`
  return { diagnoses: [fine('store', found), ...about], standing: opened }
}

async function serverDiagnoses(
  url: string,
  ports: StorePorts,
): Promise<{ readonly diagnoses: readonly Diagnosis[]; readonly standing?: StoredResources }> {
  const opened = await diagnosed('store', () => standingIn(url, ports).catch(noStore))
  if ('check' in opened) return { diagnoses: [opened] }
  const { live } = opened
  const found = `PostgreSQL answers: revision ${live.head.revision}, ${live.resources.length} resources.`
  return { diagnoses: [fine('store', found)], standing: opened }
}

function noStore(error: unknown): Diagnosis {
  if (error instanceof CommandError && error.code === 'store_missing') return NO_STORE
  throw error
}

const NO_STORE: Diagnosis = {
  check: 'store',
  state: 'warn',
  found: 'It does not exist yet.',
  hint: 'Create it with `gw apply`.',
}

async function standingIn(url: string, ports: StorePorts): Promise<StoredResources> {
  const store = await openStore(url, { mode: 'read', clock: ports.clock, folder: ports.cwd })
  try {
    const live = await store.live()
    const [newest] = await store.revisions({ limit: 1 })
    return { live, ...(newest && { newest }) }
  } finally {
    await store.close()
  }
}

function fileDiagnoses({
  walBytes,
  isOpenToOthers,
  readOnly,
  damage,
  path,
}: StoreFile): readonly Diagnosis[] {
  return [
    damage === undefined
      ? fine('integrity', 'Not checked: the file is large. `gw ledger verify` adds up the ledger.')
      : damage.length === 0
        ? fine('integrity', 'SQLite finds no damage.')
        : {
            check: 'integrity',
            state: 'fail',
            found: `SQLite finds damage: ${damage.join('; ')}.`,
            hint: 'Stop gw, keep the file, and restore a backup (docs/operations.md).',
          },
    walBytes <= LARGE_WAL_BYTES
      ? fine('journal', `${Math.round(walBytes / MIB)} MiB wait in the write-ahead log.`)
      : {
          check: 'journal',
          state: 'warn',
          found: `${Math.round(walBytes / MIB)} MiB wait in the write-ahead log.`,
          hint: 'Some process reads for a long time: end the other processes that have the file open (`lsof`).',
        },
    readOnly.length > 0
      ? {
          check: 'permissions',
          state: 'fail',
          found: `This user cannot write ${readOnly.join(', ')}.`,
          hint: 'Run this check and gw as the user that owns the store, or give the files to the user of gw with chown.',
        }
      : isOpenToOthers
        ? {
            check: 'permissions',
            state: 'warn',
            found: 'Every user of this machine may read the store: usage, logs and hashes of keys.',
            hint: `chmod 600 ${path}`,
          }
        : fine('permissions', 'Only its owner and group may read the store.'),
  ]
}

/** A clock behind the newest revision would end budgets late and expire keys late. */
export function clockDiagnosis(nowMs: number, newest: Revision | undefined): Diagnosis {
  const aheadMs = (newest?.createdAtMs ?? 0) - nowMs
  const now = iso(nowMs)
  if (aheadMs <= CLOCK_SLACK_MS) return fine('clock', `It is ${now}.`)
  return {
    check: 'clock',
    state: 'fail',
    found: `It is ${now}, and the newest revision was made ${Math.round(aheadMs / 1_000)} s later.`,
    hint: 'Set the clock, and keep it with NTP: budgets, keys and logs go by it.',
  }
}

/** The stored credentials of the endpoints that there are; others are kept for a rollback. */
export function credentialsInUse({ resources, kept = [] }: Live): readonly StoredCredential[] {
  const used = new Set(resources.map(resource => useOf(resource)?.boundTo))
  return kept.filter(({ boundTo }) => used.has(boundTo))
}

/** Only needed for credentials that are set over REST. @param kept those that are in use */
export async function masterKeyDiagnosis(
  url: string,
  { cwd, environment }: StorePorts,
  kept: readonly StoredCredential[],
): Promise<Diagnosis> {
  const given = environment['GW_MASTER_KEY']
  const found = await diagnosed('master key', async () => {
    const key = MasterKey.of(url, cwd, given)
    for (const { boundTo } of kept) {
      const secret = await findSecret({ kept: boundTo }, kept, { environment, masterKey: key })
      if (typeof secret !== 'string') return unopened(boundTo, secret)
    }
    if (given === undefined || given.trim() === '') {
      if (isPostgresUrl(url)) {
        return fine(
          'master key',
          'None: credentials can be set over REST when GW_MASTER_KEY is set for all gateways.',
        )
      }
      await key.read()
      return fine('master key', 'Its file beside the store can be used.')
    }
    return fine('master key', 'GW_MASTER_KEY is a key.')
  })
  // The file is created on first use.
  if (kept.length === 0 && found.state === 'fail' && found.found.includes('does not exist')) {
    return fine('master key', 'None yet: gw creates it with the first credential that is set over REST.')
  }
  return found
}

/** Every revision with this credential is rejected then. */
function unopened(boundTo: string, { message, hint }: MissingSecret): Diagnosis {
  return {
    check: 'master key',
    state: 'fail',
    found: `The credential of ${boundTo} cannot be opened, so its revision is not served: ${message}`,
    hint,
  }
}

/** Converts the error of a check into a diagnosis. */
async function diagnosed<T>(check: string, run: () => Promise<T>): Promise<T | Diagnosis> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    const state = error.code === 'store_outdated' ? 'warn' : 'fail'
    return { check, state, found: `${error.number}: ${error.message}`, hint: error.hint }
  }
}
