import { didYouMean } from '../../config/did-you-mean.ts'
import type { Diagnosis, ProbeTarget } from '../probe.ts'
import { isModelUnknown, isPathUnknown, statusDiagnosis } from './answers.ts'
import type { Answer, Failure, ProbeRequest } from './ask.ts'
import { isFailure } from './ask.ts'
import { listedModels, readMessage } from './read-answer.ts'
import { redactQuote, withoutSecrets } from './redact.ts'
import { chatPath, chatRequest, modelsRequest } from './requests.ts'

/** Names of models that a diagnosis shows. */
const MOST_NAMES = 10
/** What a name of a model may look like to be shown: it comes from the upstream. */
const SHOWABLE = /^[\x21-\x7e]{1,100}$/
const OWN_PATHS = /\/(?:chat\/completions|messages|completions|embeddings|rerank|models)$/

/** Asks the same upstream something else, within what is left of the time. */
export type AskAgain = (request: ProbeRequest) => Promise<Answer | Failure>

/**
 * Why an upstream that answers rejects a chat: looks, with questions that cost a token at the most, whether it is the
 * path, the protocol or the model.
 */
export async function diagnose(target: ProbeTarget, answer: Answer, askAgain: AskAgain): Promise<Diagnosis> {
  const told = readMessage(answer)
  if (isModelUnknown(answer, told)) return unknownModel(target, answer, askAgain)
  if (isPathUnknown(answer, told)) return unknownPath(target, answer, askAgain)
  const diagnosis = statusDiagnosis(target, answer)
  if (diagnosis.fault !== 'protocol' || told.shape !== 'html') return diagnosis
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
  const said = redactQuote(readMessage(answer).message, secrets)
  const saying = `(${status})${said === '' ? '.' : `: ${said}`}`
  if (names.includes(servedModel)) {
    return {
      fault: 'model',
      cause: `It lists the model \`${servedModel}\`, but rejects it ${saying}`,
      hint: 'Ask there whether the model is one for chat and the credential may use it, or hint `served_model`.',
      status,
    }
  }
  return {
    fault: 'model',
    cause: `It knows no model \`${servedModel}\` ${saying}`,
    hint: `Mend \`served_model\`.${offered(servedModel, names, secrets)}`,
    status,
  }
}

/** ` Did you mean a? It lists a, b, c and 12 more.`, the likely one first. */
function offered(wanted: string, names: readonly string[], secrets: readonly string[]): string {
  const shown = names.filter(name => SHOWABLE.test(name) && withoutSecrets(name, secrets) === name)
  if (shown.length === 0) return ' It gives no list of its models.'
  const likely = didYouMean(wanted, shown)
  const first = likely === undefined ? [] : [likely]
  const listed = [...new Set([...first, ...shown])]
  const more = listed.length - MOST_NAMES
  const list = listed.slice(0, MOST_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '')
  return `${likely === undefined ? '' : ` Did you mean ${likely}?`} It lists ${list}.`
}

async function unknownPath(target: ProbeTarget, answer: Answer, askAgain: AskAgain): Promise<Diagnosis> {
  const { status } = answer
  const cause = `${new URL(target.origin).host} knows no path ${chatPath(target)} (${status}).`
  const tell = (hint: string): Diagnosis => ({ fault: 'path', cause, hint, status })
  const own = OWN_PATHS.exec(target.basePath)?.[0]
  if (own !== undefined) {
    return tell(`Take \`${own}\` off the end of \`base_url\`: the gateway appends the path of each request.`)
  }
  if (await speaksOther(target, askAgain)) {
    const other = target.protocol === 'openai' ? 'anthropic' : 'openai'
    return {
      fault: 'protocol',
      cause: `${cause.slice(0, -1)}, but answers in the protocol ${other}.`,
      hint: `Set \`protocol: ${other}\`.`,
      status,
    }
  }
  const other = otherBase(target)
  if (await hasModels(target, other, askAgain)) return wrongBase(target, other, cause, answer)
  if (await hasModels(target, target.basePath, askAgain)) {
    return tell(
      '`base_url` is right, for its models are listed there; this upstream serves no chat. Set `skip_probe: true`.',
    )
  }
  return tell(
    target.basePath.endsWith('/v1')
      ? 'Mend `base_url`, or look whether the model server is the one that you mean.'
      : 'Does `base_url` miss `/v1`? It ends with the version path of the API.',
  )
}

function wrongBase({ origin }: ProbeTarget, base: string, cause: string, { status }: Answer): Diagnosis {
  const hint = base.endsWith('/v1')
    ? `\`base_url\` misses \`/v1\`: write ${origin}${base}.`
    : `\`base_url\` has a \`/v1\` too many: write ${origin}${base}.`
  return { fault: 'path', cause, hint, status }
}

/** The base path with `/v1`, or without the one that it has. */
function otherBase({ basePath }: ProbeTarget): string {
  return basePath.endsWith('/v1') ? basePath.slice(0, -'/v1'.length) : `${basePath}/v1`
}

async function hasModels(target: ProbeTarget, basePath: string, askAgain: AskAgain): Promise<boolean> {
  const answer = await askAgain(modelsRequest(target, basePath))
  return !isFailure(answer) && answer.status === 200 && listedModels(answer) !== undefined
}

/** Whether the chat of the other protocol is known there, whatever comes of it. */
async function speaksOther(target: ProbeTarget, askAgain: AskAgain): Promise<boolean> {
  const protocol = target.protocol === 'openai' ? 'anthropic' : 'openai'
  const answer = await askAgain(chatRequest({ ...target, protocol }))
  if (isFailure(answer) || answer.status === 405) return false
  const told = readMessage(answer)
  return told.shape === protocol && !isPathUnknown(answer, told)
}
