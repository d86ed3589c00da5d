import { CommandError } from '../../base/catalogue/command.ts'
import type { CallPath } from '../../schema/paths.ts'
import type { Context } from '../context.ts'
import { type ExplainHere, explainCall } from './ask.ts'
import { pathOf } from './decide.ts'
import type { ExplainQuery } from './explain.ts'
import type { DecisionJson, Explanation } from './to-json.ts'

/** A key of the tenant, and a model or all of them. */
type TenantQuery = Omit<ExplainQuery, 'secret'> & { readonly key: string }

/**
 * Explains a call of a tenant's own key: the answer that the call itself would get, and the limits of the key and of the
 * tenant. Nothing else: the check that rejects, a path that serves the model or an amount would reveal models that the
 * key does not see; endpoints, their health and the hints are for operators.
 * @throws {CommandError} not_found if the tenant has no such key.
 */
export async function explainToTenant(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  tenant: string,
  question: TenantQuery,
  explainHere?: ExplainHere,
): Promise<Explanation> {
  const { resources } = await store.find({ kind: 'key', name: question.key, where: { tenant } })
  if (resources.length === 0) throw new CommandError('not_found', `There is no key ${question.key}.`)
  const { source, at, decision, models } = await explainCall({ store, clock }, question, explainHere)
  return {
    source,
    at,
    unknown: [],
    ...(decision && { decision: withoutInternals(decision, question) }),
    ...(models && { models: models.filter(({ visible }) => visible).map(withoutCheck) }),
  }
}

function withoutInternals(decision: DecisionJson, { path }: TenantQuery): DecisionJson {
  const { visible, estimate, checks, ...rest } = withoutCheck(decision)
  if (!visible) {
    const asked = path ?? (pathOf(undefined).path as CallPath)
    return { ...rest, path: asked, visible, checks: [], candidates: [] }
  }
  const limits = checks.filter(({ usage }) => usage !== undefined)
  return {
    ...rest,
    visible,
    ...(estimate && { estimate }),
    checks: limits.map(step => (step.rejection ? { ...step, rejection: withoutHint(step.rejection) } : step)),
    candidates: [],
  }
}

function withoutCheck<Verdict extends { readonly rejection?: DecisionJson['rejection'] }>(
  verdict: Verdict,
): Verdict {
  if (!verdict.rejection) return verdict
  const { check: _check, ...rejection } = verdict.rejection
  return { ...verdict, rejection: withoutHint(rejection) }
}

function withoutHint<Rejection extends { readonly hint?: string | undefined }>({
  hint: _hint,
  ...rejection
}: Rejection): Omit<Rejection, 'hint'> {
  return rejection
}
