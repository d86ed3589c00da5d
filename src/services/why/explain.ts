import { CommandError } from '../../base/catalogue/command.ts'
import type { Clock } from '../../base/clock.ts'
import { iso } from '../../base/iso.ts'
import { yieldToEventLoop } from '../../base/yield-to-event-loop.ts'
import { didYouMean } from '../../config/did-you-mean.ts'
import type { CallPath } from '../../schema/paths.ts'
import { INFERENCE_PATHS } from '../../schema/paths.ts'
import { LoadedLookup, type WhyContext } from './context.ts'
import { type Caller, type CallOptions, decide, refreshLimits } from './decide.ts'
import { callerNamed, callerOf, callersNamed, explainKeys, explainModels } from './explain-calls.ts'
import { decisionToJson, type Explanation } from './to-json.ts'

/** The question: of one key, by name or secret, or of every key; for one model or for all. */
export interface ExplainQuery {
  readonly key?: string | undefined
  readonly secret?: string | undefined
  readonly model?: string | undefined
  readonly path?: CallPath | undefined
  readonly inputTokens?: number | undefined
  readonly maxTokens?: number | undefined
}

/** The size of the smallest call. */
const DEFAULT_INPUT_TOKENS = 1

/**
 * Explains which calls would be served, and why others would not.
 *
 * @throws {CommandError} not_found if no key has that name.
 */
export async function explain(
  question: ExplainQuery,
  context: WhyContext,
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<Explanation> {
  const { view, source, revision, unknown } = context
  const lookup = new LoadedLookup(context)
  const path = INFERENCE_PATHS.find(each => each.path === question.path)
  const { inputTokens = DEFAULT_INPUT_TOKENS, maxTokens, model } = question
  const call = { inputTokens, ...(path && { path }), ...(maxTokens !== undefined && { maxTokens }) }
  const head = {
    source,
    at: iso(view.clock.nowMs()),
    ...(revision !== undefined && { revision }),
    unknown: [...unknown],
  }
  await lookup.load('settings', 'settings')
  if (question.key === undefined && question.secret === undefined) {
    if (model === undefined) throw new CommandError('usage', 'Name a key, a model, or both.')
    await lookup.loadModel(model)
    await Promise.all([lookup.loadAll('key'), lookup.loadAll('tenant')])
    const callers = callersNamed(lookup.names('key'), view.snapshot, lookup)
    const keys = await yieldToEventLoop(explainKeys(callers, { ...call, model }, view, lookup), clock)
    return { ...head, keys }
  }
  const caller = await callerFor(question, context, lookup)
  if (model !== undefined) {
    await lookup.loadModel(model)
    const callOptions: CallOptions = { ...call, model }
    const unknownLimits = await refreshLimits(caller, callOptions, view)
    if (unknownLimits !== undefined) head.unknown.push(unknownLimits)
    return { ...head, decision: decisionToJson(decide(caller, callOptions, view), lookup) }
  }
  await lookup.loadAll('publication')
  await lookup.loadAll('endpoint')
  const models = await yieldToEventLoop(explainModels(caller, call, view, lookup), clock)
  return { ...head, models }
}

async function callerFor(
  question: ExplainQuery,
  { view }: WhyContext,
  lookup: LoadedLookup,
): Promise<Caller> {
  if (question.key !== undefined) await lookup.load('key', question.key)
  const caller =
    question.key === undefined
      ? callerOf(question.secret ?? '', view)
      : callerNamed(question.key, view.snapshot, lookup)
  if (!caller) {
    await lookup.loadAll('key')
    throw noSuchKey(question.key ?? '', lookup.names('key'))
  }
  const { entry } = caller
  if (entry) {
    await lookup.load('key', entry.name)
    if (entry.tenant) await lookup.load('tenant', entry.tenant.name)
  }
  return caller
}

function noSuchKey(name: string, names: readonly string[]): CommandError {
  const suggestion = didYouMean(name, new Set(names))
  const hint =
    suggestion === undefined ? 'List what exists with `gw keys list`.' : `Did you mean ${suggestion}?`
  return new CommandError('not_found', `There is no key ${name}.`, { hint })
}
