import { ApiError } from '../../base/catalogue/api.ts'
import { explainCall } from '../../services/why/ask.ts'
import { explainToTenant } from '../../services/why/for-tenants.ts'
import type { HandlersOf } from '../call.ts'
import type { UseCasePorts } from '../ports.ts'

type Ids = 'explain' | 'explain_secret'

/** Explains why a call would be served or rejected; read-only for any method. */
export function whyHandlers({ explainHere }: Pick<UseCasePorts, 'explainHere'>): HandlersOf<Ids> {
  return {
    async explain({
      query: { key, model, path, input_tokens: inputTokens, max_tokens: maxTokens },
      context,
    }) {
      if (key === undefined && model === undefined) {
        const detail = 'a key, a model, or both'
        throw new ApiError('invalid_request', `Name ${detail}.`, { errors: [{ parameter: 'key', detail }] })
      }
      const { tenant } = context.actor
      if (tenant !== undefined) {
        if (key === undefined) {
          const detail = 'a key of your own'
          throw new ApiError('invalid_request', `Name ${detail}.`, {
            errors: [{ parameter: 'key', detail }],
          })
        }
        const question = { key, model, path, inputTokens, maxTokens }
        return { body: await explainToTenant(context, tenant, question, explainHere) }
      }
      const question = { key, model, path, inputTokens, maxTokens }
      return { body: await explainCall(context, question, explainHere) }
    },
    async explain_secret({
      body: { secret, model, path, input_tokens: inputTokens, max_tokens: maxTokens },
      context,
    }) {
      const question = { secret, model, path, inputTokens, maxTokens }
      return { body: await explainCall(context, question, explainHere) }
    },
  }
}
