import { z } from 'zod'
import { modelName, name } from '../scalars.ts'

/** Shared schemas of several operations. In JSON a time is RFC 3339 in UTC, money a decimal text. */

export const time = z.iso.datetime().describe('RFC 3339, in UTC.')
export const amount = z
  .string()
  .regex(/^-?\d+(\.\d{1,9})?$/, 'a decimal')
  .meta({ examples: ['12.50'] })
  .describe('An exact decimal.')

/** What a call has used; absent where nothing was measured. */
export const usedUnits = {
  input_tokens: z.int().optional(),
  cached_input_tokens: z.int().optional(),
  cache_write_tokens: z.int().optional(),
  output_tokens: z.int().optional(),
  search_units: z.int().optional(),
  duration_ms: z.int().optional(),
  characters: z.int().optional(),
  images: z.int().optional(),
}

export const byName = z.strictObject({ name: name.describe('The name.') })
export const byModelName = z.strictObject({ name: modelName.describe('The public model name.') })

/** The query parameters of paginated lists. */
export const pageQuery = z.strictObject({
  limit: z.int().min(1).max(500).default(50).describe('The maximum number of items.'),
  cursor: z.string().max(1_024).optional().describe('`next_cursor` of the previous page.'),
})

/** The query parameters of lists of resources. */
export const resourceQuery = pageQuery.extend({
  q: z.string().min(1).max(128).optional().describe('A part of the name or of the display name.'),
  owner: z.enum(['config', 'cli', 'rest']).optional(),
  set: z.string().max(128).optional().describe('Only resources of this set of files.'),
})

/** One page of a list. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    data: z.array(item),
    next_cursor: z.string().nullable().describe('The cursor of the next page; null on the last page.'),
  })
}

/** Owner and age of a resource: members of each answer that shows one. */
export const ownershipFields = {
  owner: z
    .enum(['config', 'cli', 'rest'])
    .describe(
      'The owner: `config` resources are changed only by `gw apply`; `cli` and `rest` resources also by this API.',
    ),
  set: z.string().optional().describe('Only for `config`: the set of files.'),
  file: z.string().optional().describe('Only for `config`: the file that declares it.'),
  line: z.int().optional(),
  created_at: time,
  created_revision: z.int(),
  updated_revision: z.int().describe('The revision in which it last changed; its `etag`.'),
} as const

/** The result of a change of the configuration. */
export const revised = z
  .strictObject({ revision: z.int().describe('The new revision; gateways serve it within a second.') })
  .meta({ id: 'revised', description: 'A change of the configuration.' })

export const problem = z
  .looseObject({
    type: z.string().describe('`urn:gw:problem:` and the code.'),
    title: z.string().describe('The same for every occurrence.'),
    status: z.int(),
    code: z.string().describe('The error code, for programs.'),
    detail: z.string().describe('A description of this occurrence.'),
    hint: z.string().describe('How to fix it.'),
    request_id: z.string(),
    errors: z
      .array(
        z.strictObject({
          pointer: z.string().optional().describe('A JSON pointer into the body (RFC 6901).'),
          parameter: z.string().optional().describe('A parameter of path or query.'),
          header: z.string().optional(),
          detail: z.string(),
        }),
      )
      .optional()
      .describe('The invalid fields.'),
  })
  .meta({ id: 'problem', description: 'An error (RFC 9457).' })
