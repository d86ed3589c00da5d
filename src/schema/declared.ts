import type { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { key } from './key.ts'
import { publication } from './publication.ts'
import { modelName, name } from './scalars.ts'
import { tenant } from './tenant.ts'

/**
 * The kinds as a file declares them: with their previous name. It is an instruction, not part of the resource, so it is
 * in no store, plan or export.
 */

const DESCRIPTION =
  'The previous name: the resource is renamed, and keeps its usage, spend, wallet and secrets. After the rename the field has no effect and may be removed.'

const previousName = (schema: z.ZodString) => ({ previous_name: schema.optional().describe(DESCRIPTION) })

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
