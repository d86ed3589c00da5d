import { CommandError } from '../../base/catalogue/command.ts'
import type { Store } from '../../store/types.ts'
import { loadTree } from '../configuration.ts'
import type { AppPorts, Context } from '../context.ts'
import { askControl, type ControlAccess } from '../control-client.ts'
import { isAlive } from '../gateways.ts'
import { type ExplainQuery, explain } from './explain.ts'
import { contextOfFiles } from './from-files.ts'
import { contextOfStore } from './from-store.ts'
import type { Explanation } from './to-json.ts'

/**
 * Answers from files, before they are applied.
 * @throws {ConfigurationInvalid} and {@link CommandError} not_servable, not_found, usage
 */
export async function explainFiles(
  question: ExplainQuery,
  paths: readonly string[],
  ports: AppPorts,
): Promise<Explanation> {
  const { tree } = await loadTree(paths, new Set(), ports)
  return explain(question, await contextOfFiles(tree, ports), ports.clock)
}

/** Answers from the state of the gateway in this process; undefined if there is none. */
export type ExplainHere = (question: ExplainQuery) => Promise<Explanation | undefined>

/**
 * Explains which calls would be served; counts and holds nothing.
 * @throws {CommandError} store_…, not_found if no key has that name, nothing_to_serve, usage
 */
export async function explainCall(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  question: ExplainQuery,
  explainHere?: ExplainHere,
): Promise<Explanation> {
  return (
    (await explainHere?.(question)) ??
    explain(question, await contextOfStore(store, clock, question.key), clock)
  )
}

/**
 * Answers from the state and spending of a store.
 *
 * @returns also the addresses of the gateways that serve the store, which have more exact state.
 * @throws {CommandError} store_…, not_found, nothing_to_serve, usage
 */
export async function explainStore(
  context: Pick<Context, 'store' | 'clock'>,
  question: ExplainQuery,
): Promise<{ readonly explanation: Explanation; readonly gateways: readonly string[] }> {
  return {
    explanation: await explainCall(context, question),
    gateways: await liveGateways(context.store, context.clock.nowMs()),
  }
}

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

async function liveGateways(store: Store, nowMs: number): Promise<readonly string[]> {
  const gateways = await store.gateways()
  return gateways
    .filter(gateway => isAlive(gateway, nowMs))
    .map(({ url, host, pid }) => url ?? `${host}:${pid}`)
}
