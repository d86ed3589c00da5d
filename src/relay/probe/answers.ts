import type { Diagnosis, ProbeFault, ProbeTarget } from '../probe.ts'
import { isUnpaid } from '../unpaid.ts'
import type { Answer } from './ask.ts'
import { readMessage, type UpstreamMessage } from './read-answer.ts'
import { redactQuote, withoutSecrets } from './redact.ts'

const OTHER = { openai: 'anthropic', anthropic: 'openai' } as const
const MODEL_CODES = /^(?:model_not_found|invalid_model|unknown_model|model_not_available)$/
const NO_SUCH =
  /not (?:be )?found|n[o']t exist|unknown|no such|invalid|not (?:a )?valid|not support|not available|access to/i

/** Statuses that may mean no more than that the upstream has no chat for this model. */
const PERHAPS_NO_CHAT = new Set([400, 403, 404, 405, 422, 501])

/** Whether it is worth asking for embeddings and the like. */
export function mayLackChat({ protocol }: ProbeTarget, { status }: Answer): boolean {
  return protocol === 'openai' && PERHAPS_NO_CHAT.has(status)
}

/** Whether it is the upstream's path that is wrong, rather than the model: nothing there knows the request. */
export function isPathUnknown(answer: Answer, told: UpstreamMessage): boolean {
  return (answer.status === 404 || answer.status === 405) && !isModelUnknown(answer, told)
}

export function isModelUnknown(answer: Answer, told: UpstreamMessage): boolean {
  const { status } = answer
  const { code, type, param, message = '' } = told
  if (isParameterRejected(answer, told)) return false
  if (status !== 400 && status !== 403 && status !== 404 && status !== 422) return false
  if (MODEL_CODES.test(code) || MODEL_CODES.test(type)) return true
  if (type === 'not_found_error' && /^model/i.test(message)) return true
  return (param === 'model' || /model/i.test(message)) && NO_SUCH.test(message)
}

/** It takes the model and not a parameter: `Unsupported parameter: 'messages' is not supported with this model.` */
function isParameterRejected({ status }: Answer, { code, message = '' }: UpstreamMessage): boolean {
  if (status !== 400 && status !== 422) return false
  return /^(?:unsupported|unknown|invalid)_parameter$/.test(code) || PARAMETER_REJECTED.test(message)
}

const PARAMETER_REJECTED =
  /\b(?:(?:unsupported|unknown|unrecognized|unexpected) (?:request )?(?:parameter|argument|field)|extra (?:inputs|fields) are not permitted)/i

/** The model is there and thinks longer than a probe lets it, which is a sign of life. */
export function ranOutOfTokens({ status }: Answer, { message = '' }: UpstreamMessage): boolean {
  return status === 400 && /could not finish|output limit was reached/i.test(message)
}

/** The model wants the bound of its answer under the newer name. */
export function wantsOtherBound({ status }: Answer, { param, message = '' }: UpstreamMessage): boolean {
  return (
    (status === 400 || status === 422) &&
    (param === 'max_tokens' || message.includes('max_completion_tokens'))
  )
}

/** What a rejection means by its status alone; paths and models are looked into elsewhere. */
export function statusDiagnosis(target: ProbeTarget, answer: Answer): Diagnosis {
  const { status } = answer
  const told = readMessage(answer)
  const at = new URL(target.origin).host
  const said = redactQuote(told.message, target.secrets)
  const saying = said === '' ? '.' : `: ${said}`
  const tell = (fault: ProbeFault, cause: string, hint: string): Diagnosis => ({ fault, cause, hint, status })

  if (isUnpaid({ ...told, status, asksToWait: answer.asksToWait })) {
    const hint = 'Pay the bill or raise the limit of the account there.'
    return tell('payment', `The account at ${at} has nothing left to spend (${status})${saying}`, hint)
  }
  if (status >= 300 && status < 400) return redirect(target, answer, at)
  if (status === 401 || status === 403) return credential(target, answer, told, at)
  if (status < 300) return strange(target, told, at, status)
  if (status >= 500) {
    const hint = 'Look into the log of the model server, and try again once it is well.'
    return tell('upstream', `${at} answers ${status}${saying}`, hint)
  }
  if (isParameterRejected(answer, told)) {
    const hint =
      'The probe sends `model`, `messages` and a bound of one token, as clients do. Is the model one for this path? If calls with other parameters work, set `skip_probe: true`.'
    return tell('request', `${at} does not accept a parameter of the probe (${status})${saying}`, hint)
  }
  const hint = `Mend what it names. Where the upstream takes no minimal chat, set \`skip_probe: true\`.`
  return tell('request', `${at} rejects a minimal chat with ${status}${saying}`, hint)
}

function redirect(target: ProbeTarget, { status, location }: Answer, at: string): Diagnosis {
  const origin = originOf(location, target.origin) ?? ''
  const isTelling = withoutSecrets(origin, target.secrets) !== origin
  const to = origin === '' || isTelling ? undefined : origin
  const where = to === undefined ? 'elsewhere' : to === target.origin ? 'another of its paths' : `to ${to}`
  const hint =
    to === undefined || to === target.origin
      ? 'Write the address at which the API itself answers into `base_url`.'
      : `If you trust ${to}, write it into \`base_url\`.`
  return {
    fault: 'redirect',
    cause: `${at} redirects ${where} (${status}), and redirects are never followed.`,
    hint,
    status,
  }
}

function originOf(location: string | undefined, base: string): string | undefined {
  if (location === undefined || !URL.canParse(location, base)) return undefined
  const { origin } = new URL(location, base)
  return origin === 'null' ? undefined : origin
}

function credential(
  target: ProbeTarget,
  { status }: Answer,
  { shape }: UpstreamMessage,
  at: string,
): Diagnosis {
  const hasCredential = target.secrets.length > 0
  const name = target.credential ?? 'the configured one'
  const cause = hasCredential
    ? `${at} rejects the credential, ${name} (${status}).`
    : `${at} wants a credential (${status}), and none is configured.`
  const hint = hasCredential
    ? `Put a secret that is valid there behind ${name}, or hint \`upstream_key\` or \`auth\`.`
    : 'Set `upstream_key: { env: NAME }` or `{ file: /path }`.'
  return { fault: 'credential', cause, hint: hint + protocolDoubt(target, shape), status }
}

function protocolDoubt({ protocol }: ProbeTarget, shape: UpstreamMessage['shape']): string {
  if (shape === 'html') return ' A web page says so: perhaps a proxy in between, or `base_url` is wrong.'
  return shape === OTHER[protocol]
    ? ` It speaks like the protocol ${shape}: is \`protocol: ${protocol}\` right?`
    : ''
}

/** A success that is none. */
function strange(target: ProbeTarget, told: UpstreamMessage, at: string, status: number): Diagnosis {
  const { protocol } = target
  const tell = (cause: string, hint: string): Diagnosis => ({ fault: 'protocol', cause, hint, status })
  if (told.shape === OTHER[protocol]) {
    return tell(`${at} answers in the protocol ${told.shape}.`, `Set \`protocol: ${told.shape}\`.`)
  }
  const hint = 'Mend `base_url`: it ends with the version path of the API, such as `/v1`.'
  if (told.shape === 'html') return tell(`${at} answers with a web page.`, hint)
  const said = redactQuote(told.message, target.secrets)
  if (said !== '')
    return tell(`${at} answers ${status}, and tells of an error: ${said}`, 'Mend what it names.')
  return tell(`${at} answers ${status} with something that is no ${protocol} chat.`, hint)
}
