import { ApiError } from '../../base/catalogue/api.ts'
import { explainCall } from '../../services/why/ask.ts'
import type { ExplainQuery } from '../../services/why/explain.ts'
import { explainToTenant } from '../../services/why/for-tenants.ts'
import type { HandlersOf } from '../call.ts'
import { OpenRequests } from '../open-requests.ts'
import type { UseCasePorts } from '../ports.ts'

type Ids = 'explain' | 'explain_secret'

/** One that is computed, and those of other tabs that wait for it. */
const MAX_EXPLANATIONS = 4

/**
 * Explains why a call would be served or rejected; read-only for any method. The gateway computes one explanation at a time,
 * because it does so on the thread that serves calls.
 */
export function whyHandlers(ports: Pick<UseCasePorts, 'explainHere'>): HandlersOf<Ids> {
  const open = new OpenRequests(MAX_EXPLANATIONS)
  let last: Promise<unknown> = Promise.resolve()
  const explainHere = (question: ExplainQuery) => {
    const turn = last.then(() => ports.explainHere(question))
    last = turn.catch(() => undefined)
    return turn
  }
  return {
    async explain({
      query: { key, model, path, input_tokens: inputTokens, max_tokens: maxTokens },
      caller: { name },
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
        return { body: await open.run(name, () => explainToTenant(context, tenant, question, explainHere)) }
      }
      const question = { key, model, path, inputTokens, maxTokens }
      return { body: await open.run(name, () => explainCall(context, question, explainHere)) }
    },
    async explain_secret({
      body: { secret, model, path, input_tokens: inputTokens, max_tokens: maxTokens },
      caller: { name },
      context,
    }) {
      const question = { secret, model, path, inputTokens, maxTokens }
      return { body: await open.run(name, () => explainCall(context, question, explainHere)) }
    },
  }
}
