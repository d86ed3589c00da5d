import { z } from 'zod'
import { declaredEndpoint, declaredKey, declaredPublication, declaredTenant } from './declared.ts'
import { node } from './node.ts'
import { binding, inlineBinding } from './publication.ts'
import { modelName, name } from './scalars.ts'
import { settings } from './settings.ts'

/** The name of the resources that a tree of files owns. */
export const setName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'lower-case letters, digits and . _ - only, at most 64 characters')

/** A publication in a file: with its bindings inside. */
const publicationWithBindings = declaredPublication
  .extend({
    bindings: z.array(inlineBinding).default([]).describe('The endpoints that serve it.'),
  })
  .meta({
    id: 'publication_with_bindings',
    description: 'A public model name and the endpoints that serve it.',
  })

/** One configuration file. Root keys that start with `x-` are removed before validation. */
export const document = z
  .strictObject({
    version: z.literal(1).describe('The version of this format.'),
    set: setName
      .optional()
      .describe('The name of the set of resources that this tree owns. Default: `default`. Once per tree.'),
    settings: settings.optional(),
    nodes: z
      .record(name, node.meta({ id: 'node' }))
      .optional()
      .describe('Machines that dial in, by name.'),
    endpoints: z.record(name, declaredEndpoint).optional().describe('Upstreams, by name.'),
    publications: z.record(modelName, publicationWithBindings).optional().describe('Public model names.'),
    tenants: z.record(name, declaredTenant).optional().describe('Customers or teams, by name.'),
    keys: z.record(name, declaredKey).optional().describe('Policies of API keys, by name.'),
    bindings: z.array(binding).optional().describe('Bindings outside of their publication.'),
  })
  .meta({ description: 'A gw configuration file.' })
