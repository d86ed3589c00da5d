import { keyDigest, mintKey } from '../base/api-key.ts'
import { CommandError } from '../base/catalogue/command.ts'
import { formatNano } from '../base/decimal.ts'
import { iso } from '../base/iso.ts'
import { Calendar } from '../limits/calendar.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { type CanonicalSpec, encode, type Json, KINDS } from '../schema/kinds.ts'
import type { WrittenConcurrency, WrittenQuota, WrittenRate } from '../schema/limits.ts'
import { name as resourceName } from '../schema/scalars.ts'
import { QUARTER_MS } from '../store/ledger/usage-sums.ts'
import type { Live, StoredResource } from '../store/types.ts'
import { record } from './audit.ts'
import { keyExpiryMs, keyStates, viewKeys } from './changes/key-view.ts'
import { ManagedError } from './changes/rejections.ts'
import type { KeyView } from './changes/types.ts'
import type { Context } from './context.ts'
import { firstCallWarning } from './first-calls.ts'
import { similarNames } from './names.ts'
import { type Page, pageOf } from './paging.ts'
import { create, filtersOf, type ResourceFilters, remove, shown, update } from './resources.ts'
import { assertOwnKey, assertRoom, withinBounds } from './self-service.ts'
import { readCurrency } from './settings.ts'

/** The document of a key: the policy as in a file, and the state of its secret. */
export interface KeyShown extends ReturnType<typeof shown> {
  readonly kind: 'platform' | 'tenant'
  readonly display_name?: string
  readonly tenant?: string
  readonly models: readonly string[]
  readonly limits: {
    readonly rpm?: WrittenRate
    readonly tpm?: WrittenRate
    readonly concurrency?: WrittenConcurrency
  }
  readonly quota?: WrittenQuota
  readonly budget?: {
    /** An exact decimal. */
    readonly amount: string
    readonly per: 'day' | 'month' | 'total'
    readonly timezone: string
    readonly mode?: 'shadow'
  }
  readonly expires_at?: string
  readonly state: KeyView['state']
  readonly suspended_at?: string
  readonly last_used_at?: string
  readonly secret: {
    readonly source?: KeyView['secretSource']
    readonly created_at?: string
    readonly active: number
  }
  readonly spend?: KeySpend
}

/** The settled amounts of a key. Open holds are known only to the gateway. */
interface KeySpend {
  readonly tokens: number
  readonly amount: string
  readonly in_budget?: string
  readonly currency: string
}

type IssuedSecret = AnswerOf<OperationOf<'issue_key'>>
type KeySwitched = AnswerOf<OperationOf<'disable_key'>>
type KeyRevoked = AnswerOf<OperationOf<'revoke_key'>>

/** Which keys to list; filters are combined with AND. */
export interface KeyQuery extends ResourceFilters {
  readonly tenant?: string | undefined
  readonly state?: KeyView['state'] | undefined
  /** Only keys that have not expired, and will within this time. */
  readonly expiringMs?: number
  /** Only keys older than this that settled no call within this time. */
  readonly unusedMs?: number
}

/** Keys by name. Keys of other tenants do not exist for a tenant. */
export async function listKeys(context: Context, query: KeyQuery): Promise<Page<KeyShown>> {
  const { store, actor } = context
  const tenant = actor.tenant ?? query.tenant
  const own = tenant === undefined ? {} : { where: { tenant } }
  const isForeign = query.tenant !== undefined && query.tenant !== tenant
  const isFiltered = [query.expiringMs, query.unusedMs, query.state].some(filter => filter !== undefined)
  const read = async (limit: number, after: string | undefined): Promise<readonly KeyShown[]> => {
    if (isForeign) return []
    const filters = { kind: 'key', ...own, ...filtersOf(query) } as const
    const next = (count: number, behind: string | undefined) =>
      store.find({ ...filters, limit: count, ...(behind !== undefined && { after: behind }) })
    if (!isFiltered) return withLastUse(documents(await next(limit, after)), context)
    const found: KeyShown[] = []
    for (let behind = after; found.length < limit; ) {
      const live = await next(SCANNED, behind)
      const matching = await matchingKeys(live, query, context)
      const page = { ...live, resources: matching.slice(0, limit - found.length) }
      found.push(...(await withLastUse(documents(page), context)))
      behind = live.resources.at(-1)?.name
      if (live.resources.length < SCANNED) break
    }
    return found
  }
  return pageOf(
    query,
    read,
    key => key.name,
    key => key,
  )
}

/** A key with its spend. @throws {CommandError} not_found */
export async function showKey(context: Context, { name }: { readonly name: string }): Promise<KeyShown> {
  const live = await stored(context, name)
  const [key] = documents(live)
  const [view] = viewKeys(live)
  if (!key || !view) throw new Error(`the key ${name} is missing from its own view`)
  const [used = key] = await withLastUse([key], context)
  return { ...used, spend: await spendOf(context, view, live) }
}

/**
 * Creates a key that no file declares, as a revision of its own. It has no secret yet, unless its policy has one.
 *
 * @param spec the policy in its canonical form; see {@link keySpec}.
 * @throws {CommandError} not_found if the tenant does not exist, already_exists if the name is taken, not_servable if a gateway could
 * not serve the result; {ApiError} for a user of a tenant what {@link withinBounds} and
 * {@link assertRoom} throw.
 */
export async function createKey(
  context: Context,
  { name, spec }: { readonly name: string; readonly spec: CanonicalSpec },
): Promise<KeyShown> {
  context.signal.throwIfAborted()
  const { tenant } = context.actor
  if (tenant === undefined) await create(context, 'create_key', { kind: 'key', name, spec })
  else {
    const own = await withinBounds(context, tenant, { name, spec })
    const assertAllowed = () => assertRoom(context, tenant)
    await create(context, 'create_key', { kind: 'key', name, spec: own }, { assertAllowed })
  }
  return showKey(context, { name })
}

/** @throws what {@link changeManually} throws. */
export async function updateKey(
  context: Context,
  { name, version }: { readonly name: string; readonly version?: number | undefined },
  edit: (spec: CanonicalSpec) => CanonicalSpec,
): Promise<KeyShown> {
  const target = { kind: 'key', name, ...(version !== undefined && { version }) } as const
  await update(context, 'update_key', target, edit)
  return showKey(context, { name })
}

/**
 * Deletes a key that no configuration file declares, with its secrets. Its usage stays in the ledger.
 *
 * @param review receives the key and rejects by throwing.
 * @throws {CommandError} not_found
 * @throws {ManagedError} owned_by_other if a configuration file declares the key.
 */
export async function deleteKey(
  context: Context,
  { name, version }: { readonly name: string; readonly version?: number | undefined },
  review?: (key: KeyShown) => Promise<void>,
): Promise<{ readonly revision: number }> {
  if (review) {
    const key = await showKey(context, { name })
    if (key.owner === 'config') throw new ManagedError(managed(await stored(context, name)))
    await review(key)
    context.signal.throwIfAborted()
  }
  const { tenant } = context.actor
  const assertAllowed = tenant === undefined ? undefined : () => assertOwnKey(context, tenant, name)
  const target = { kind: 'key', name, ...(version !== undefined && { version }) } as const
  return remove(context, 'delete_key', target, { assertAllowed })
}

/**
 * Mints the first secret of a key.
 * @throws {CommandError} not_found, has_secret if it has a minted or configured secret.
 */
export async function issueKey(context: Context, { name }: { readonly name: string }): Promise<IssuedSecret> {
  const [issued] = await issueKeys(context, { names: [name] })
  if (!issued) throw new Error(`no secret was minted for ${name}`)
  return issued
}

/** The first secrets of several keys, or of none on an error. @throws as {@link issueKey} */
export async function issueKeys(
  context: Context,
  { names }: { readonly names: readonly string[] },
): Promise<readonly IssuedSecret[]> {
  context.signal.throwIfAborted()
  const issued: IssuedSecret[] = []
  for (const name of names) {
    assertMintable(await lookUpKey(context, name))
    issued.push({ key: name, secret: mintKey(context.random) })
  }
  await context.store.issueSecrets(issued.map(({ key, secret }) => ({ key, digest: keyDigest(secret) })))
  for (const name of names) await record(context, { action: 'issue_key', target: `key/${name}` })
  return issued
}

/** Undefined if the first call of the key to every model would pass. See {@link firstCallWarning}. */
export function firstCallProblem(
  { store, clock }: Context,
  { name }: { readonly name: string },
): Promise<string | undefined> {
  return firstCallWarning(store, name, { clock })
}

/**
 * Mints a further secret. The older ones expire after `graceMs`, at once for 0.
 * @throws {CommandError} not_found, has_secret if the secret is in the configuration.
 */
export async function rotateKey(
  context: Context,
  { name, graceMs }: { readonly name: string; readonly graceMs: number },
): Promise<IssuedSecret> {
  context.signal.throwIfAborted()
  const key = await lookUpKey(context, name)
  assertMintable(key)
  const secret = mintKey(context.random)
  const { createdAtMs } = await context.store.rotateSecret(name, keyDigest(secret), graceMs)
  await record(context, { action: 'rotate_key', target: `key/${name}` })
  const hasGrace = graceMs > 0 && key.activeSecrets > 0
  return { key: name, secret, ...(hasGrace && { grace_until: iso(createdAtMs + graceMs) }) }
}

/** Suspends a key until {@link enableKey}, or until its configuration disables it. @throws {CommandError} not_found */
export async function disableKey(
  context: Context,
  { name }: { readonly name: string },
): Promise<KeySwitched> {
  context.signal.throwIfAborted()
  await lookUpKey(context, name)
  const changed = await context.store.suspendKey(name)
  if (changed) await record(context, { action: 'disable_key', target: `key/${name}` })
  return { key: name, state: 'disabled', changed }
}

/** Reverts {@link disableKey}. @throws {CommandError} not_found, disabled_in_file if the configuration disables the key. */
export async function enableKey(context: Context, { name }: { readonly name: string }): Promise<KeySwitched> {
  context.signal.throwIfAborted()
  const key = await lookUpKey(context, name)
  if (key.state === 'disabled') {
    const place = key.place && `${key.place.file}:${key.place.line}`
    throw new CommandError(
      'disabled_in_file',
      `The key ${name} is disabled in its configuration${place ? `, ${place}` : ''}.`,
      place ? { hint: `Set \`enabled: true\` in ${place}, and apply.` } : {},
    )
  }
  const changed = await context.store.resumeKey(name)
  if (changed) await record(context, { action: 'enable_key', target: `key/${name}` })
  return { key: name, state: 'enabled', changed }
}

/**
 * Ends every secret of a key at once, for any owner: for incidents. The policy stays, and a new secret may be issued. A
 * configured secret cannot be ended here, so the key itself is suspended.
 *
 * @throws {CommandError} not_found
 */
export async function revokeKey(context: Context, { name }: { readonly name: string }): Promise<KeyRevoked> {
  context.signal.throwIfAborted()
  const key = await lookUpKey(context, name)
  const secrets = await context.store.revokeSecrets(name)
  const suspended = key.secretSource === 'hash' || key.secretSource === 'reference'
  if (suspended) await context.store.suspendKey(name)
  if (secrets > 0 || suspended) await record(context, { action: 'revoke_key', target: `key/${name}` })
  return { key: name, secrets, suspended }
}

/** The canonical form of a policy as in a configuration file. @throws {CommandError} usage, with every fault. */
export function keySpec(name: string, policy: { readonly [field: string]: Json }): CanonicalSpec {
  const checked = resourceName.safeParse(name)
  const key = KINDS.key.safeParse(policy)
  const faults = [
    ...(checked.error?.issues ?? []).map(issue => `The name ${name}: ${issue.message}.`),
    ...(key.error?.issues ?? []).map(issue => `${issue.path.join('.')}: ${issue.message}.`),
  ]
  if (faults.length === 0 && key.success) return encode('key', key.data)
  throw new CommandError('usage', faults.join('\n'))
}

/** The models of a key without a publication: typos, or publications that come later. */
export async function unknownModels(
  { store }: Pick<Context, 'store'>,
  { models }: Pick<KeyShown, 'models'>,
): Promise<readonly string[]> {
  const { resources } = await store.find({ kind: 'publication' })
  const known = new Set(resources.map(({ name }) => name))
  return models.filter(model => !/[*?]/.test(model) && !known.has(model))
}

/** The documents of the keys in `live`, without their spend. */
function documents(live: Live): KeyShown[] {
  const views = new Map(viewKeys(live).map(view => [view.name, view]))
  return live.resources.flatMap(resource => {
    const view = views.get(resource.name)
    return view ? [documentOf(resource, view)] : []
  })
}

function documentOf(resource: StoredResource, view: KeyView): KeyShown {
  const { hash: _hash, ...spec } = resource.spec
  // The canonical form of a policy has the types of its fields in a file.
  return {
    ...shown({ ...resource, spec }),
    state: view.state,
    ...(view.suspendedAtMs !== undefined && { suspended_at: iso(view.suspendedAtMs) }),
    secret: {
      ...(view.secretSource && { source: view.secretSource }),
      ...(view.secretCreatedAtMs !== undefined && { created_at: iso(view.secretCreatedAtMs) }),
      active: view.activeSecrets,
    },
  } as unknown as KeyShown
}

/** @throws {CommandError} not_found, with similar names. */
async function stored({ store }: Pick<Context, 'store'>, name: string): Promise<Live> {
  const live = await store.find({ kind: 'key', name })
  if (live.resources.length > 0) return live
  const { resources } = await store.find({ kind: 'key' })
  const similar = similarNames(
    name,
    resources.map(candidate => candidate.name),
  )
  throw new CommandError('not_found', `There is no key ${name}.`, {
    hint:
      similar.length > 0
        ? `Did you mean ${similar.join(' or ')}? \`gw keys list\` shows all.`
        : '`gw keys list` shows all; declare a new key under `keys` and apply, or use `gw keys create`.',
  })
}

/** @throws {CommandError} not_found, with similar names. */
async function lookUpKey(context: Pick<Context, 'store'>, name: string): Promise<KeyView> {
  const [key] = viewKeys(await stored(context, name))
  if (!key) throw new Error(`the key ${name} is missing from its own view`)
  return key
}

function managed({ resources }: Live): StoredResource {
  const [resource] = resources
  if (!resource) throw new Error('the key is missing')
  return resource
}

/** A configured secret must be replaced in its file: a minted one would stay valid after the configured one ends. */
function assertMintable({ name, secretSource, place }: KeyView): void {
  if (secretSource !== 'hash' && secretSource !== 'reference') return
  const field = secretSource === 'hash' ? 'hash' : 'secret'
  throw new CommandError('has_secret', `The key ${name} has a secret in its configuration.`, {
    hint: `Replace \`${field}\`${place ? ` in ${place.file}:${place.line}` : ''}, or remove it and issue a secret.`,
  })
}

async function spendOf(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  { name, budget }: KeyView,
  { resources }: Live,
): Promise<KeySpend> {
  const nowMs = clock.nowMs()
  const account = resources[0]?.account ?? name
  const { startMs } = new Calendar().span(budget?.per ?? 'total', budget?.timezone ?? 'UTC', nowMs)
  // A total budget has no start: it uses the sums for life.
  const sinceMs = startMs > 0 ? startMs : nowMs - (nowMs % QUARTER_MS)
  const [sums] = await store.accounting.keySums([{ key: account, sinceMs }])
  const { totalTokens: tokens = 0, totalNano = 0n, windowNano = 0n } = sums ?? {}
  return {
    tokens,
    amount: formatNano(totalNano),
    ...(budget && { in_budget: formatNano(budget.per === 'total' ? totalNano : windowNano) }),
    currency: await readCurrency(store),
  }
}

/** How many keys are read at a time for a filter that the store does not know. */
const SCANNED = 1_000
/** How far back a last use is looked for. */
const LAST_USE_MS = 30 * 86_400_000

/** The keys with their last use of the last days. */
async function withLastUse(
  keys: readonly KeyShown[],
  { store, clock }: Pick<Context, 'store' | 'clock'>,
): Promise<readonly KeyShown[]> {
  if (keys.length === 0) return keys
  const names = keys.map(({ name }) => name)
  const last = await store.accounting.lastUse({ by: 'key', names, sinceMs: clock.nowMs() - LAST_USE_MS })
  return keys.map(key => {
    const atMs = last.get(key.name)
    return atMs === undefined ? key : { ...key, last_used_at: iso(atMs) }
  })
}

/** The keys that pass the filters. Only those of them that are shown are worth decoding. */
async function matchingKeys(
  live: Live,
  { expiringMs, unusedMs, state }: KeyQuery,
  { store, clock }: Pick<Context, 'store' | 'clock'>,
): Promise<readonly StoredResource[]> {
  const nowMs = clock.nowMs()
  const states = state === undefined ? undefined : keyStates(live)
  const found = live.resources.filter(({ name, spec, createdAtMs }) => {
    if (states && states.get(name) !== state) return false
    if (unusedMs !== undefined && createdAtMs > nowMs - unusedMs) return false
    if (expiringMs === undefined) return true
    const expiresAtMs = keyExpiryMs(spec)
    return expiresAtMs !== undefined && expiresAtMs > nowMs && expiresAtMs <= nowMs + expiringMs
  })
  if (unusedMs === undefined || found.length === 0) return found
  const names = found.map(({ name }) => name)
  const used = await store.accounting.lastUse({ by: 'key', names, sinceMs: nowMs - unusedMs })
  return found.filter(({ name }) => !used.has(name))
}
