import { z } from 'zod'
import { name, text } from './scalars.ts'

/** The name of an engine: a model server on a node. Short, because each stream names it. */
export const engineName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'lower-case letters, digits and . _ - only, at most 64 characters')

export const nodeLabels = z.record(z.string().min(1).max(64), text)

/** A node as a file declares it: a machine that dials in and serves models. */
export const node = z
  .strictObject({
    display_name: text.optional().describe('A display name.'),
    labels: nodeLabels.default({}).describe('Labels by which endpoints choose nodes.'),
    engines: z
      .array(engineName)
      .min(1, 'at least one engine')
      .optional()
      .describe('The engines of the node that may be used. Default: all that it offers.'),
  })
  .describe('A machine that dials in and serves models.')

/** The nodes of an endpoint. */
export const nodeSelector = z
  .strictObject({
    labels: nodeLabels.optional().describe('Nodes with all of these labels.'),
    names: z.array(name).min(1, 'at least one node').optional().describe('Only these nodes.'),
    engine: engineName.describe('The name of the engine on each node.'),
  })
  .superRefine(({ labels, names }, ctx) => {
    if (names !== undefined || Object.keys(labels ?? {}).length > 0) return
    ctx.addIssue({
      code: 'custom',
      path: ['labels'],
      message: '`nodes` chooses by `labels`, by `names`, or by both',
      params: { fault: 'missing_field' },
    })
  })

/** Where an engine on a node serves its API: only the path matters, the host is that of the node itself. */
const ENGINE_URL = 'http://localhost/v1'

/** The address of an endpoint; of one on nodes, that of its engines as they see it. */
export function addressOf({ base_url }: { readonly base_url?: string | undefined }): string {
  return base_url ?? ENGINE_URL
}

/** Who may join: nodes that files declare, or every holder of a join token. */
export const NODE_ADMISSIONS = ['declared', 'token'] as const
