import { type CallPath, INFERENCE_PATHS } from '../../schema/paths.ts'
import type { Diagnosis, Probe, ProbedService, ProbeOptions, ProbeOutcome, ProbeTarget } from '../probe.ts'
import { isAnswerOf, isUnpaid, listedModels, readMessage } from '../read-answer.ts'
import { isPathServed, mayLackChat, ranOutOfTokens, statusDiagnosis, wantsOtherBound } from './answers.ts'
import {
  type Answer,
  type AskPorts,
  ask,
  chatRequest,
  emptyRequest,
  type Failure,
  isFailure,
  modelsRequest,
  otherRequest,
  type ProbeRequest,
  pathOf,
} from './ask.ts'
import { type AskAgain, diagnose } from './diagnose.ts'
import { transportDiagnosis } from './transport-faults.ts'

/** Services to try if there is no chat; the first that answers suffices. */
const OTHER_SERVICES = ['embeddings', 'rerank', 'completions', 'responses'] as const

/**
 *     chat ──▶ max_completion_tokens, if required ──▶ a chat, or 429: alive
 *       │                                  │
 *       │                                  └──▶ the other services, if there may be no chat: alive
 *       │                                                    │
 *   transport diagnosis                                 diagnose: path, protocol, model
 */
export function httpProbe(ports: AskPorts): Probe {
  return {
    chat: (target, options) => chat(target, options, ports, 'diagnose'),
    async list(target, { timeoutMs, signal }) {
      const answer = await ask(target, modelsRequest(target), timeoutMs, signal, ports)
      return isFailure(answer) || answer.status !== 200 ? undefined : listedModels(answer)
    },
    paths: (target, proven, options) => findPaths(target, proven, options, ports),
    async check(target, hasAnswered, options) {
      const free = hasAnswered ? undefined : await checkByList(target, options, ports)
      return free ?? chat(target, options, ports, 'brief')
    },
  }
}

async function chat(
  target: ProbeTarget,
  options: ProbeOptions,
  ports: AskPorts,
  depth: 'diagnose' | 'brief',
): Promise<ProbeOutcome> {
  const { timeoutMs, signal } = options
  const send: AskAgain = request => ask(target, request, timeoutMs, signal, ports)
  const others = OTHER_SERVICES.filter(service => serves(target, service))
  if (!serves(target, 'chat')) return probeOthers(others, target, options, ports)
  let answer = await send(chatRequest(target))
  if (!isFailure(answer) && target.protocol === 'openai' && wantsOtherBound(answer, readMessage(answer))) {
    answer = await send(chatRequest(target, 'max_completion_tokens'))
  }
  if (isFailure(answer)) return failed(answer, transportDiagnosis(answer, target))
  const alive = judge(target, answer, 'chat')
  if (alive) return alive
  const askAgain = withSharedTimeout(target, options, ports)
  if (mayLackChat(target, answer)) {
    for (const service of others) {
      const other = await askAgain(otherRequest(target, service))
      const outcome = isFailure(other) ? undefined : judge(target, other, service)
      if (outcome) return outcome
    }
  }
  const diagnosis =
    depth === 'brief' ? statusDiagnosis(target, answer) : await diagnose(target, answer, askAgain)
  return failed(answer, diagnosis)
}

/**
 * Like {@link chat}, for an endpoint whose `paths` have no chat. Without a service that has a minimal request, an empty
 * one shows that address, path and credential are right.
 */
async function probeOthers(
  services: readonly Exclude<ProbedService, 'chat'>[],
  target: ProbeTarget,
  { timeoutMs, signal }: ProbeOptions,
  ports: AskPorts,
): Promise<ProbeOutcome> {
  let first: Answer | undefined
  for (const service of services) {
    const answer = await ask(target, otherRequest(target, service), timeoutMs, signal, ports)
    if (isFailure(answer)) return failed(answer, transportDiagnosis(answer, target))
    const outcome = judge(target, answer, service)
    if (outcome) return outcome
    first ??= answer
  }
  if (first) return failed(first, statusDiagnosis(target, first))
  const answer = await ask(target, emptyRequest(target, target.paths?.[0]), timeoutMs, signal, ports)
  if (isFailure(answer)) return failed(answer, transportDiagnosis(answer, target))
  if (!isPathServed(answer, readMessage(answer))) return failed(answer, statusDiagnosis(target, answer))
  return { ok: true, latencyMs: answer.latencyMs, service: 'path', rateLimited: false }
}

function serves({ protocol, paths }: ProbeTarget, service: ProbedService): boolean {
  const path = pathOf(service, protocol)
  return path !== undefined && (paths?.includes(path) ?? true)
}

/** Asks every path, one after another: some upstreams limit the rate. */
async function findPaths(
  target: ProbeTarget,
  proven: CallPath | undefined,
  { timeoutMs, signal }: ProbeOptions,
  ports: AskPorts,
): Promise<readonly CallPath[] | undefined> {
  const rows = INFERENCE_PATHS.filter(({ protocol }) => protocol === target.protocol)
  const served: CallPath[] = []
  for (const row of rows) {
    if (row.path !== proven) {
      const answer = await ask(target, emptyRequest(target, row.path), timeoutMs, signal, ports)
      const isServed = isFailure(answer) ? undefined : isPathServed(answer, readMessage(answer))
      if (isServed === undefined) return undefined
      if (!isServed) continue
    }
    served.push(row.path)
  }
  return served
}

/** The outcome if the answer proves that the service works, else undefined. */
function judge(target: ProbeTarget, answer: Answer, service: ProbedService): ProbeOutcome | undefined {
  const { status, latencyMs } = answer
  if (status === 200) {
    const isRight = isAnswerOf(service, target.protocol, answer)
    return isRight ? { ok: true, latencyMs, service, rateLimited: false } : undefined
  }
  if (service !== 'chat') return undefined
  const error = readMessage(answer)
  const rateLimited = status === 429 && !isUnpaid({ ...error, status, asksToWait: answer.asksToWait })
  return rateLimited || ranOutOfTokens(answer, error)
    ? { ok: true, latencyMs, service, rateLimited }
    : undefined
}

/**
 * The outcome by the free list of models; undefined if it is inconclusive. A list without the model proves nothing,
 * because aliases are seldom listed; a 403 may be a credential that may chat but not list.
 */
async function checkByList(
  target: ProbeTarget,
  { timeoutMs, signal }: ProbeOptions,
  ports: AskPorts,
): Promise<ProbeOutcome | undefined> {
  const answer = await ask(target, modelsRequest(target), timeoutMs, signal, ports)
  if (isFailure(answer)) return failed(answer, transportDiagnosis(answer, target))
  const { status, latencyMs } = answer
  if (status === 429) return { ok: true, latencyMs, service: 'models', rateLimited: true }
  if (status === 401 || (status >= 500 && status !== 501))
    return failed(answer, statusDiagnosis(target, answer))
  if (status !== 200 || !listedModels(answer)?.includes(target.servedModel)) return undefined
  return { ok: true, latencyMs, service: 'models', rateLimited: false }
}

/** Sends requests that share `timeoutMs`; a request after it fails immediately. */
function withSharedTimeout(
  target: ProbeTarget,
  { timeoutMs, signal }: ProbeOptions,
  ports: AskPorts,
): AskAgain {
  const endMs = ports.clock.monotonicMs() + timeoutMs
  return (request: ProbeRequest) =>
    ask(target, request, Math.max(0, endMs - ports.clock.monotonicMs()), signal, ports)
}

function failed({ latencyMs }: Answer | Failure, diagnosis: Diagnosis): ProbeOutcome {
  return { ok: false, latencyMs, diagnosis }
}
