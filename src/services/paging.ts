import { isStorable } from '../base/storable-text.ts'
import { invalid } from './invalid.ts'

/** The part of a list to read. */
export interface PageQuery {
  readonly limit: number
  /** `next_cursor` of the previous page. */
  readonly cursor?: string | undefined
}

/** The limit of a list that is read as a whole. */
export const ALL_ROWS = 2 ** 31

/** One page of a list. */
export interface Page<Item> {
  readonly data: Item[]
  readonly next_cursor: string | null
}

/**
 * Reads one item more than requested, to find out whether there is a next page.
 *
 * @param read returns the items after a name or an id.
 * @param markOf the name or id of an item.
 * @throws {ApiError} invalid_request if the cursor was not issued by {@link pageOf}.
 */
export async function pageOf<Item, Shown>(
  { limit, cursor }: PageQuery,
  read: (limit: number, behind: string | undefined) => Promise<readonly Item[]>,
  markOf: (item: Item) => string | number,
  show: (item: Item) => Shown,
): Promise<Page<Shown>> {
  const items = await read(limit + 1, cursor === undefined ? undefined : markIn(cursor))
  const page = items.slice(0, limit)
  const last = page.at(-1)
  const hasMore = items.length > limit && last !== undefined
  return { data: page.map(show), next_cursor: hasMore ? cursorOf(String(markOf(last))) : null }
}

/** Decodes the id before which a list is read. @throws {ApiError} invalid_request */
export function idBefore(mark: string | undefined): { readonly before?: number } {
  if (mark === undefined) return {}
  if (!/^\d{1,15}$/.test(mark)) throw badCursor()
  return { before: Number(mark) }
}

function cursorOf(mark: string): string {
  return Buffer.from(mark).toString('base64url')
}

function markIn(cursor: string): string {
  const mark = Buffer.from(cursor, 'base64url').toString()
  if (mark === '' || !isStorable(mark) || cursorOf(mark) !== cursor) throw badCursor()
  return mark
}

function badCursor(): Error {
  return invalid([{ parameter: 'cursor', detail: 'not a cursor of this list' }])
}
