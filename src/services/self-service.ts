import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '../base/catalogue/api.ts'
import { CommandError } from '../base/catalogue/command.ts'
import { type CanonicalSpec, decode, encode, type Spec } from '../schema/kinds.ts'
import { concurrencyOf, rateOf } from '../schema/limits.ts'
import { modelFilter } from '../snapshot/model-filter.ts'
import type { StoredResource } from '../store/types.ts'
import type { Context } from './context.ts'
import { invalid } from './invalid.ts'

/**
 * Keys that the users of a tenant create themselves, within the bounds of `self_service`. Their names start with that
 * of the tenant and a slash, so that a name says nothing about the keys of other tenants.
 */

type Bounds = NonNullable<Spec<'tenant'>['self_service']>
type Limits = Spec<'key'>['limits']
type Issue = { readonly pointer: string; readonly detail: string }

/** What the name of each such key starts with. */
function ownPrefix(tenant: string): string {
  return `${tenant}/`
}

/**
 * The policy of a new key of the tenant, with the limits of the bounds where it has none.
 * @throws {ApiError} forbidden without `self_service`, invalid_request with each field out of bounds.
 */
export async function withinBounds(
  context: Pick<Context, 'store'>,
  tenant: string,
  { name, spec }: { readonly name: string; readonly spec: CanonicalSpec },
): Promise<CanonicalSpec> {
  const { bounds, rules } = await boundsOf(context, tenant)
  const key = decode('key', spec)
  const issues = [
    ...identityIssues(tenant, name, key),
    ...modelIssues(key.models, [bounds.models, rules.models]),
    ...limitIssues(key.limits, bounds.limits),
  ]
  if (issues.length > 0) throw invalid(issues)
  return encode('key', { ...key, models: modelsOf(key, bounds), limits: { ...bounds.limits, ...key.limits } })
}

/** @throws {ApiError} forbidden without `self_service`, too_many_keys */
export async function assertRoom(context: Pick<Context, 'store'>, tenant: string): Promise<void> {
  const { bounds } = await boundsOf(context, tenant)
  const { resources } = await context.store.find({ kind: 'key', where: { tenant } })
  const count = resources.filter(({ name, owner }) => owner === 'rest' && isOwnKey(tenant, name)).length
  if (count < bounds.max_keys) return
  throw new ApiError('too_many_keys', `The tenant has ${count} of ${bounds.max_keys} keys of its own.`)
}

async function boundsOf(
  { store }: Pick<Context, 'store'>,
  tenant: string,
): Promise<{ readonly bounds: Bounds; readonly rules: Spec<'tenant'> }> {
  const [stored] = (await store.find({ kind: 'tenant', name: tenant })).resources
  const rules = stored && decode('tenant', stored.spec)
  if (rules?.self_service) return { bounds: rules.self_service, rules }
  throw new ApiError('forbidden', 'The users of this tenant create no keys themselves.')
}

/** Whether the name is one that the users of the tenant may give. `acme/eu/app` belongs to a tenant `acme/eu`, not to `acme`. */
export function isOwnKey(tenant: string, name: string): boolean {
  if (!name.startsWith(ownPrefix(tenant))) return false
  const rest = name.slice(ownPrefix(tenant).length)
  return rest !== '' && !rest.includes('/')
}

/**
 * Users of a tenant delete only keys that they could have created, as they created them: to delete and create a key again
 * must not undo what the operator did to it.
 * @throws {ApiError} forbidden
 */
export async function assertOwnKey(
  { store }: Pick<Context, 'store'>,
  tenant: string,
  name: string,
): Promise<void> {
  const { resources, holds } = await store.find({ kind: 'key', name })
  const [key] = resources
  const reason = !isOwnKey(tenant, name)
    ? 'was made by the operator'
    : holds.length > 0
      ? 'is disabled'
      : key && !(await isAsCreated(store, key)) && 'was changed by the operator'
  if (reason) throw new ApiError('forbidden', `The key ${name} ${reason}: only an administrator deletes it.`)
}

/** Whether only a new name of its tenant, which the key follows, tells it from what was created. */
async function isAsCreated(store: Context['store'], key: StoredResource): Promise<boolean> {
  if (key.updatedRevision === key.createdRevision) return true
  const { account = key.name } = key
  const earlier = await store.resourcesAt(key.createdRevision).catch((error: unknown) => {
    if (error instanceof CommandError && error.code === 'not_found') return []
    throw error
  })
  const created = earlier.find(({ kind, name, account: of = name }) => kind === 'key' && of === account)
  return (
    created !== undefined &&
    isDeepStrictEqual({ ...created.spec, tenant: key.spec['tenant'] }, { ...key.spec })
  )
}

function identityIssues(tenant: string, name: string, { kind, tenant: of, hash }: Spec<'key'>): Issue[] {
  return [
    ...(isOwnKey(tenant, name)
      ? []
      : [{ pointer: '/name', detail: `starts with ${ownPrefix(tenant)}, without another slash` }]),
    ...(kind === 'tenant' ? [] : [{ pointer: '/kind', detail: 'only `tenant`' }]),
    ...(of === tenant ? [] : [{ pointer: '/tenant', detail: `only ${tenant}` }]),
    // A hash that is taken would say that another tenant has this secret.
    ...(hash === undefined ? [] : [{ pointer: '/hash', detail: 'only for administrators' }]),
  ]
}

/** A key without models of its own gets those of the bounds. */
function modelsOf({ models }: Spec<'key'>, bounds: Bounds): string[] {
  return [...(models.includes('*') ? bounds.models : models)]
}

/** Each model must be a name that every list allows, or one of their patterns. */
function modelIssues(models: readonly string[], lists: readonly (readonly string[])[]): Issue[] {
  return models.flatMap((model, index) => {
    const isAllowed = (list: readonly string[]) =>
      list.includes(model) || (/[*?]/.test(model) ? list.includes('*') : modelFilter(list)(model))
    if (model === '*' || lists.every(isAllowed)) return []
    return [{ pointer: `/models/${index}`, detail: 'not a model that keys of this tenant may use' }]
  })
}

/** The limits of the key above those of the bounds. */
function limitIssues(own: Limits, highest: Limits): Issue[] {
  const issues: Issue[] = []
  for (const name of ['rpm', 'tpm'] as const) {
    const [wanted, bound] = [own[name], highest[name]]
    if (wanted === undefined || bound === undefined) continue
    const { limit, burst } = rateOf(bound)
    const { limit: wantedLimit, burst: wantedBurst } = rateOf(wanted)
    const isShadow = typeof wanted === 'object' && wanted.mode === 'shadow'
    if (isShadow || wantedLimit > limit || wantedBurst > burst)
      issues.push({ pointer: `/limits/${name}`, detail: `at most ${limit}, and enforced` })
  }
  const [wanted, bound] = [own.concurrency, highest.concurrency]
  if (wanted !== undefined && bound !== undefined) {
    const isShadow = typeof wanted === 'object' && wanted.mode === 'shadow'
    if (isShadow || concurrencyOf(wanted) > concurrencyOf(bound))
      issues.push({ pointer: '/limits/concurrency', detail: `at most ${concurrencyOf(bound)}, and enforced` })
  }
  return issues
}
