import { ApiError } from '../../base/catalogue/api.ts'
import type { HandlersOf } from '../call.ts'
import type { UseCasePorts } from '../ports.ts'

type Ids = 'explain' | 'explain_secret'

/** Explains why a call would be served or rejected; read-only for any method. */
export function whyHandlers({ explain }: Pick<UseCasePorts, 'explain'>): HandlersOf<Ids> {
  return {
    async explain({ query: { key, model, path, input_tokens: inputTokens, max_tokens: maxTokens } }) {
      if (key === undefined && model === undefined) {
        const detail = 'a key, a model, or both'
        throw new ApiError('invalid_request', `Name ${detail}.`, { errors: [{ parameter: 'key', detail }] })
      }
      return { body: await explain({ key, model, path, inputTokens, maxTokens }) }
    },
    async explain_secret({
      body: { secret, model, path, input_tokens: inputTokens, max_tokens: maxTokens },
    }) {
      return { body: await explain({ secret, model, path, inputTokens, maxTokens }) }
    },
  }
}
