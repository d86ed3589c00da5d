import { z } from 'zod'
import { onDisconnect, onUpstreamError, outputCap } from './outcomes.ts'
import { price } from './price.ts'
import { modelName, name, text } from './scalars.ts'

export const PUBLICATION_STATUSES = ['draft', 'listed', 'unlisted', 'banned'] as const

const weight = z
  .int()
  .min(0)
  .max(1_000_000)
  .default(1)
  .describe('Share of the traffic within the tier; 0 sends no new traffic.')
const priority = z
  .int()
  .min(0)
  .max(1_000)
  .default(0)
  .describe('Tier: 0 first; the next only if no endpoint of the earlier one is usable.')
const servedModel = z
  .string()
  .min(1)
  .max(512)
  .optional()
  .describe('Overrides `served_model` of the endpoint.')

/** The connection of a publication with an endpoint, at most one per pair. */
export const binding = z
  .strictObject({
    publication: modelName.describe('The public model name.'),
    endpoint: name.describe('The endpoint that serves it.'),
    weight,
    priority,
    served_model: servedModel,
  })
  .meta({ id: 'binding', description: 'One endpoint that serves one publication.' })

/** A binding inside its publication, which it need not name. */
export const inlineBinding = binding.omit({ publication: true }).meta({
  id: 'inline_binding',
  description: 'One endpoint that serves this publication.',
})

/** A public model name; the name itself is the key of the map. */
export const publication = z
  .strictObject({
    status: z
      .enum(PUBLICATION_STATUSES)
      .default('listed')
      .describe(
        'Only `listed` is visible and callable: calls of `draft` or `unlisted` answer 404, calls of `banned` 403.',
      ),
    display_name: text.optional().describe('A display name. Default: the model name.'),
    owned_by: text.default('gw').describe('Shown in `/v1/models`.'),
    price: price.optional(),
    max_input_tokens: z
      .int()
      .min(1)
      .optional()
      .describe(
        'The context window of the model: no call reserves more input, even with attached documents.',
      ),
    max_output_tokens: z
      .int()
      .min(1)
      .optional()
      .describe('The output to reserve for a request without its own limit.'),
    output_cap: outputCap
      .optional()
      .describe(
        'The field that limits the output of requests without their own limit. Default: `settings.output_cap`.',
      ),
    on_disconnect: onDisconnect
      .optional()
      .describe('If a client disconnects: `abort` or `drain`. Default: `settings.on_disconnect`.'),
    on_upstream_error: onUpstreamError
      .optional()
      .describe(
        'If an upstream fails in mid-stream: `charge` or `free`. Default: `settings.on_upstream_error`.',
      ),
  })
  .describe('A public model name.')
