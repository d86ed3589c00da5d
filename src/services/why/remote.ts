import { CommandError } from '../../base/catalogue/command.ts'
import { askControl, type ControlAccess } from '../control-client.ts'
import type { ExplainQuery } from './explain.ts'
import type { Explanation } from './to-json.ts'

/**
 * Asks a running gateway, through its control plane.
 *
 * @throws {CommandError} control_plane_unreachable if the control plane does not answer; not_found if no key has that name.
 */
export async function explainRemotely(question: ExplainQuery, access: ControlAccess): Promise<Explanation> {
  const { key, secret, model, path, inputTokens, maxTokens } = question
  const fields = {
    ...(model !== undefined && { model }),
    ...(path !== undefined && { path }),
    ...(inputTokens !== undefined && { input_tokens: inputTokens }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
  }
  const answer =
    secret === undefined
      ? await askControl('explain', access, { query: { ...fields, ...(key !== undefined && { key }) } })
      : await askControl('explain_secret', access, { body: { ...fields, secret } })
  if (answer.status === 200) return answer.json as Explanation
  const { detail, hint } = answer.json as { readonly detail?: string; readonly hint?: string }
  const code = answer.status === 404 ? 'not_found' : 'control_plane_unreachable'
  throw new CommandError(code, detail, hint === undefined ? {} : { hint })
}
