import { GwError } from '../base/catalogue/wire.ts'
import type { Content } from '../limits/content.ts'
import type { StoredResponse } from '../schema/ledger.ts'
import type { KeyEntry, Snapshot } from '../snapshot/types.ts'
import { findsKept, type Keeper, keeperOf } from '../snapshot/upstream-account.ts'
import type { LedgerPort } from './bill.ts'
import type { Call } from './call.ts'

/**
 * Stored responses: an id is a capability of the tenant that got it, and the location of the upstream account that keeps
 * the response. An id of another tenant is answered like one that does not exist.
 */

/** Limit of stored items that one call may refer to. */
const MAX_REFERENCES = 1_024

/** Where the stored responses and items of a call are kept, and how many tokens they add to its input. */
export interface Location {
  readonly keeper: Keeper
  readonly tokens: number
}

/**
 * Finds the stored responses and items that a call refers to. Other items are the client's own unless they are known as
 * those of another tenant: clients send back answers that were never stored, with their ids.
 *
 * @returns undefined if it refers to none.
 * @throws {GwError} response_not_found if one is unknown, has expired, or belongs to another tenant; invalid_parameter if
 * they are kept by different accounts of upstreams.
 */
export async function locate(
  { previousResponseId: previous }: Pick<Call, 'previousResponseId'>,
  { references = [], mentions = [] }: Pick<Content, 'references' | 'mentions'>,
  key: KeyEntry,
  snapshot: Pick<Snapshot, 'endpoints'>,
  ledger: Pick<LedgerPort, 'stored'>,
): Promise<Location | undefined> {
  const ids = [...new Set(previous === undefined ? references : [previous, ...references])]
  const param = previous === undefined ? 'input' : 'previous_response_id'
  if (ids.length + mentions.length > MAX_REFERENCES)
    throw new GwError('invalid_parameter', `\`input\` refers to more than ${MAX_REFERENCES} items.`, {
      param,
    })
  await assertOwn(mentions, key, ledger)
  if (ids.length === 0) return undefined
  let location: Location | undefined
  for (const [at, response] of (await ledger.stored(ids)).entries()) {
    if (!response || !mayUse(key, response)) throw notFound(ids[at] === previous)
    const { endpoint, tokens } = response
    const keeper = location?.keeper.account === endpoint ? location.keeper : keeperOf(snapshot, endpoint)
    if (location && !isSame(location.keeper, keeper))
      throw new GwError(
        'invalid_parameter',
        'The stored items of this call are kept by different endpoints.',
        { param },
      )
    location = { keeper: location?.keeper ?? keeper, tokens: tokens + (location?.tokens ?? 0) }
  }
  return location
}

/** @throws {GwError} response_not_found if one of the items is known as one of another tenant. */
async function assertOwn(
  ids: readonly string[],
  key: KeyEntry,
  ledger: Pick<LedgerPort, 'stored'>,
): Promise<void> {
  if (ids.length === 0) return
  const found = await ledger.stored(ids, false)
  if (found.some(item => item && !mayUse(key, item))) throw notFound(false)
}

function isSame(one: Keeper, other: Keeper): boolean {
  return one.account === other.account || (other.endpoint !== undefined && findsKept(other.endpoint, one))
}

function notFound(isPrevious: boolean): GwError {
  const message = isPrevious ? undefined : 'No stored item has one of the ids in `input`.'
  return new GwError('response_not_found', message, { param: isPrevious ? 'previous_response_id' : 'input' })
}

/** @throws {GwError} response_not_found */
export async function findStored(
  id: string,
  key: KeyEntry,
  ledger: Pick<LedgerPort, 'stored'>,
): Promise<StoredResponse> {
  const [response] = await ledger.stored([id])
  if (!response || !mayUse(key, response)) throw new GwError('response_not_found')
  return response
}

/** The keys of a tenant share its responses; a platform key has its own. */
function mayUse({ account, tenant }: KeyEntry, response: StoredResponse): boolean {
  return tenant
    ? response.tenant === tenant.account
    : response.tenant === undefined && response.key === account
}

/** The content of a call that continues stored responses: the model reads their tokens, too. */
export function continued(content: Content, tokens: number): Content {
  const { bound, likely } = content.media
  return { ...content, media: { bound: bound + tokens, likely: likely + tokens } }
}
