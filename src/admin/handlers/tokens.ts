import { ApiError } from '../../base/catalogue/api.ts'
import { CommandError } from '../../base/catalogue/command.ts'
import { invalid } from '../../services/invalid.ts'
import { createToken, listTokens, revokeToken } from '../../services/tokens.ts'
import type { HandlersOf } from '../call.ts'

type Ids = 'list_tokens' | 'create_token' | 'revoke_token'

export const tokenHandlers: HandlersOf<Ids> = {
  async list_tokens({ query, context }) {
    return { body: await listTokens(context, query) }
  },
  async create_token({ body: { expires_in: spanMs, ...wanted }, caller, context }) {
    try {
      return { body: await createToken(context, { ...wanted, spanMs, user: caller.name }) }
    } catch (error) {
      throw asApiError(error)
    }
  },
  async revoke_token({ params, context }) {
    await revokeToken(context, { id: params.name })
    return { body: undefined }
  },
}

function asApiError(error: unknown): unknown {
  if (!(error instanceof CommandError)) return error
  if (error.code === 'already_exists') return new ApiError('already_exists', error.message)
  const isTenants = error.code === 'not_found' || error.code === 'usage'
  return isTenants ? invalid([{ pointer: '/tenant', detail: error.message }]) : error
}
