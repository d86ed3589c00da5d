import { didYouMean } from '../../config/did-you-mean.ts'
import type { Diagnosis, ProbeTarget } from '../probe.ts'
import { listedModels, readMessage, redactQuote, withoutSecrets } from '../read-answer.ts'
import { isModelUnknown, isPathUnknown, statusDiagnosis } from './answers.ts'
import {
  type Answer,
  chatPath,
  chatRequest,
  type Failure,
  isFailure,
  modelsRequest,
  type ProbeRequest,
} from './ask.ts'

/** Limit of model names in a diagnosis. */
const MAX_NAMES = 10
/** Model names that are shown: they come from the upstream. */
const SHOWABLE = /^[\x21-\x7e]{1,100}$/
const OWN_PATHS = /\/(?:chat\/completions|messages|completions|embeddings|rerank|models)$/

/** Sends another request to the same upstream, within the remaining time. */
export type AskAgain = (request: ProbeRequest) => Promise<Answer | Failure>

/**
 * Finds out why an upstream rejects a chat, with requests that cost at most one token: the path, the protocol or the
 * model.
 */
export async function diagnose(target: ProbeTarget, answer: Answer, askAgain: AskAgain): Promise<Diagnosis> {
  const error = readMessage(answer)
  if (isModelUnknown(answer, error)) return unknownModel(target, answer, askAgain)
  if (isPathUnknown(answer, error)) return unknownPath(target, answer, askAgain)
  const diagnosis = statusDiagnosis(target, answer)
  if (diagnosis.fault !== 'protocol' || error.shape !== 'html') return diagnosis
  const other = otherBase(target)
  return (await hasModels(target, other, askAgain))
    ? wrongBase(target, other, diagnosis.cause, answer)
    : diagnosis
}

async function unknownModel(target: ProbeTarget, answer: Answer, askAgain: AskAgain): Promise<Diagnosis> {
  const { servedModel } = target
  const secrets = target.secrets
  const { status } = answer
  const listing = await askAgain(modelsRequest(target))
  const names = (isFailure(listing) ? undefined : listedModels(listing)) ?? []
  const quote = redactQuote(readMessage(answer).message, secrets)
  const suffix = `(${status})${quote === '' ? '.' : `: ${quote}`}`
  if (names.includes(servedModel)) {
    return {
      fault: 'model',
      cause: `It lists the model \`${servedModel}\`, but rejects it ${suffix}`,
      hint: 'Check there that the model supports chat and that the credential may use it, or correct `served_model`.',
      status,
    }
  }
  return {
    fault: 'model',
    cause: `It does not know the model \`${servedModel}\` ${suffix}`,
    hint: `Correct \`served_model\`.${listedNames(servedModel, names, secrets)}`,
    status,
  }
}

/** ` Did you mean a? It lists a, b, c and 12 more.`, the likely one first. */
function listedNames(wanted: string, names: readonly string[], secrets: readonly string[]): string {
  const shown = names.filter(name => SHOWABLE.test(name) && withoutSecrets(name, secrets) === name)
  if (shown.length === 0) return ' It does not list its models.'
  const likely = didYouMean(wanted, shown)
  const first = likely === undefined ? [] : [likely]
  const listed = [...new Set([...first, ...shown])]
  const more = listed.length - MAX_NAMES
  const list = listed.slice(0, MAX_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '')
  return `${likely === undefined ? '' : ` Did you mean ${likely}?`} It lists ${list}.`
}

async function unknownPath(target: ProbeTarget, answer: Answer, askAgain: AskAgain): Promise<Diagnosis> {
  const { status } = answer
  const cause = `${new URL(target.origin).host} does not know the path ${chatPath(target)} (${status}).`
  const diagnosis = (hint: string): Diagnosis => ({ fault: 'path', cause, hint, status })
  const own = OWN_PATHS.exec(target.basePath)?.[0]
  if (own !== undefined) {
    return diagnosis(
      `Remove \`${own}\` from the end of \`base_url\`: the gateway appends the path of each request.`,
    )
  }
  const other = otherBase(target)
  // First: some servers have the chats of OpenAI without `/v1` as well, but not those of Anthropic.
  if (await answersChats({ ...target, basePath: other }, askAgain))
    return wrongBase(target, other, cause, answer)
  const protocol = target.protocol === 'openai' ? 'anthropic' : 'openai'
  if (await answersChats({ ...target, protocol }, askAgain)) {
    return {
      fault: 'protocol',
      cause: `${cause.slice(0, -1)}, but answers in the protocol ${protocol}.`,
      hint: `Set \`protocol: ${protocol}\`.`,
      status,
      fix: { protocol },
    }
  }
  if (await hasModels(target, other, askAgain)) return wrongBase(target, other, cause, answer)
  if (await hasModels(target, target.basePath, askAgain)) {
    return diagnosis(
      '`base_url` is right, because its models are listed there; this upstream serves no chat. Set `skip_probe: true`.',
    )
  }
  return diagnosis(
    target.basePath.endsWith('/v1')
      ? 'Correct `base_url`, or check that the right model server runs there.'
      : 'Does `base_url` lack `/v1`? It ends with the version path of the API.',
  )
}

function wrongBase({ origin }: ProbeTarget, base: string, cause: string, { status }: Answer): Diagnosis {
  const hint = base.endsWith('/v1')
    ? `\`base_url\` lacks \`/v1\`: set it to ${origin}${base}.`
    : `\`base_url\` has one \`/v1\` too many: set it to ${origin}${base}.`
  return { fault: 'path', cause, hint, status, fix: { base_url: origin + base } }
}

/** The base path with `/v1` appended, or removed if it has one. */
function otherBase({ basePath }: ProbeTarget): string {
  return basePath.endsWith('/v1') ? basePath.slice(0, -'/v1'.length) : `${basePath}/v1`
}

async function hasModels(target: ProbeTarget, basePath: string, askAgain: AskAgain): Promise<boolean> {
  const answer = await askAgain(modelsRequest(target, basePath))
  return !isFailure(answer) && answer.status === 200 && listedModels(answer) !== undefined
}

/** Whether the upstream knows this chat path, even if it rejects the request. */
async function answersChats(target: ProbeTarget, askAgain: AskAgain): Promise<boolean> {
  const answer = await askAgain(chatRequest(target))
  if (isFailure(answer) || answer.status === 405) return false
  const error = readMessage(answer)
  return error.shape === target.protocol && !isPathUnknown(answer, error)
}
