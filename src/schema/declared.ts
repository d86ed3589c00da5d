import type { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { key } from './key.ts'
import { publication } from './publication.ts'
import { modelName, name } from './scalars.ts'
import { tenant } from './tenant.ts'

/**
 * The nouns as a file declares them: with the name that they had before. It is an instruction and no part of what
 * stands, so it is in no store, no plan and no export.
 */

const HISTORY =
  'The name that it had until now: what stands under it is renamed, and keeps its usage, spend, wallet and secrets. Once that is done the field does nothing, and may go.'

const previousName = (schema: z.ZodString) => ({ previous_name: schema.optional().describe(HISTORY) })

export const declaredEndpoint = endpoint
  .safeExtend(previousName(name))
  .meta({ id: 'endpoint', description: 'An upstream: one model server, or one account at a vendor.' })

export const declaredPublication = publication
  .safeExtend(previousName(modelName))
  .meta({ id: 'publication', description: 'A public model name.' })

export const declaredTenant = tenant
  .safeExtend(previousName(name))
  .meta({ id: 'tenant', description: 'A customer or a team.' })

export const declaredKey = key
  .safeExtend(previousName(name))
  .meta({ id: 'key', description: 'The policy of an API key.' })
