import { CommandError } from '../../base/catalogue/command.ts'
import type { Clock } from '../../base/clock.ts'
import { nearest } from '../../config/nearest.ts'
import type { Asked } from '../../control/ports.ts'
import { INFERENCE_PATHS } from '../../gateway/endpoints.ts'
import { type Bearer, decide, type Wish } from '../../gateway/why/decide.ts'
import { bearerNamed, bearerOf, bearersNamed, explainKeys, explainModels } from '../../gateway/why/explain.ts'
import { type Explanation, tellDecision } from '../../gateway/why/told.ts'
import { inSlices } from '../slices.ts'
import { Known } from './known.ts'
import type { Scene } from './scene.ts'

/** What somebody wants to know. Without a key and a secret: of every key; without a model: of every publication. */
export type WhyQuestion = Asked

/** The smallest call that there is. */
const DEFAULT_INPUT_TOKENS = 1

/**
 * What would be served to whom, and why not.
 *
 * @throws {CommandError} GW4005 where there is no key of that name.
 */
export async function explain(
  question: WhyQuestion,
  scene: Scene,
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<Explanation> {
  const { view, source, revision, unknown } = scene
  const known = new Known(scene)
  const path = INFERENCE_PATHS.find(each => each.path === question.path)
  const { inputTokens = DEFAULT_INPUT_TOKENS, maxTokens, model } = question
  const call = { inputTokens, ...(path && { path }), ...(maxTokens !== undefined && { maxTokens }) }
  const head = {
    source,
    at: new Date(view.clock.nowMs()).toISOString(),
    ...(revision !== undefined && { revision }),
    unknown: [...unknown],
  }
  await known.learn('settings', 'settings')
  if (question.key === undefined && question.secret === undefined) {
    if (model === undefined) throw new CommandError('GW6001', 'Name a key, a model, or both.')
    await known.learnModel(model)
    await Promise.all([known.learnAll('key'), known.learnAll('tenant')])
    const bearers = bearersNamed(known.names('key'), view.snapshot, known)
    const keys = await inSlices(explainKeys(bearers, { ...call, model }, view, known), clock)
    return { ...head, keys }
  }
  const bearer = await bearerFor(question, scene, known)
  if (model !== undefined) {
    await known.learnModel(model)
    const wish: Wish = { ...call, model }
    return { ...head, decision: tellDecision(decide(bearer, wish, view), known) }
  }
  await known.learnAll('publication')
  await known.learnAll('endpoint')
  const models = await inSlices(explainModels(bearer, call, view, known), clock)
  return { ...head, models }
}

async function bearerFor(question: WhyQuestion, { view }: Scene, known: Known): Promise<Bearer> {
  if (question.key !== undefined) await known.learn('key', question.key)
  const bearer =
    question.key === undefined
      ? bearerOf(question.secret ?? '', view)
      : bearerNamed(question.key, view.snapshot, known)
  if (!bearer) {
    await known.learnAll('key')
    throw noSuchKey(question.key ?? '', known.names('key'))
  }
  const { entry } = bearer
  if (entry) {
    await known.learn('key', entry.name)
    if (entry.tenant) await known.learn('tenant', entry.tenant.name)
  }
  return bearer
}

function noSuchKey(name: string, names: readonly string[]): CommandError {
  const meant = nearest(name, new Set(names))
  const hint = meant === undefined ? 'List what exists with `gw keys list`.' : `Did you mean ${meant}?`
  return new CommandError('GW4005', `There is no key ${name}.`, { hint })
}
