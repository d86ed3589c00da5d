import { z } from 'zod'
import { modelName, name } from '../scalars.ts'

/** Shapes that several operations share. On the wire a time is RFC 3339 in UTC, money a decimal text. */

export const time = z.iso.datetime().describe('RFC 3339, in UTC.')
export const amount = z
  .string()
  .regex(/^-?\d+(\.\d{1,9})?$/, 'a decimal')
  .meta({ examples: ['12.50'] })
  .describe('An exact decimal.')

export const byName = z.strictObject({ name: name.describe('The name.') })
export const byModelName = z.strictObject({ name: modelName.describe('The public model name.') })

/** How a list is read page by page. */
export const pageQuery = z.strictObject({
  limit: z.int().min(1).max(500).default(50).describe('At most so many.'),
  cursor: z.string().max(1_024).optional().describe('`next_cursor` of the page before.'),
})

/** One page of a list. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    data: z.array(item),
    next_cursor: z
      .string()
      .nullable()
      .describe('Where the next page begins; null where this is the last one.'),
  })
}

/** Whose a resource is and how old: members of each answer that shows one. */
export const standing = {
  owner: z
    .enum(['config', 'cli', 'rest'])
    .describe('Who may change it: `config` is for `gw apply` alone; `cli` and `rest` are for this API, too.'),
  set: z.string().optional().describe('Of `config`: the set of files.'),
  file: z.string().optional().describe('Of `config`: where it is declared.'),
  line: z.int().optional(),
  created_at: time,
  created_revision: z.int(),
  updated_revision: z.int().describe('The revision in which it last changed; its `etag`.'),
} as const

/** What became of a change of the configuration. */
export const revised = z
  .strictObject({ revision: z.int().describe('The new revision; gateways serve it within a second.') })
  .meta({ id: 'revised', description: 'A change of the configuration.' })

export const problem = z
  .looseObject({
    type: z.string().describe('`urn:gw:problem:` and the code.'),
    title: z.string().describe('The same for every occurrence.'),
    status: z.int(),
    code: z.string().describe('What happened, for programs.'),
    detail: z.string().describe('What happened this time.'),
    hint: z.string().describe('What to do about it.'),
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
      .describe('Each field that is wrong.'),
  })
  .meta({ id: 'problem', description: 'Why there is no answer (RFC 9457).' })
