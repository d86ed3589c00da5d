import type { Diagnosis, ProbeFault, ProbeTarget } from '../probe.ts'
import { isUnpaid, readMessage, redactQuote, type UpstreamMessage, withoutSecrets } from '../read-answer.ts'
import type { Answer } from './ask.ts'
import { clientCertificate } from './transport-faults.ts'

const OTHER = { openai: 'anthropic', anthropic: 'openai' } as const
const MODEL_CODES = /^(?:model_not_found|invalid_model|unknown_model|model_not_available)$/
const NO_SUCH =
  /not (?:be )?found|n[o']t exist|unknown|no such|invalid|not (?:a )?valid|not support|not available|access to/i

/** Statuses that may only mean that the upstream has no chat for this model. */
const PERHAPS_NO_CHAT = new Set([400, 403, 404, 405, 422, 501])

/** Whether to probe other services, such as embeddings. */
export function mayLackChat({ protocol }: ProbeTarget, { status }: Answer): boolean {
  return protocol === 'openai' && PERHAPS_NO_CHAT.has(status)
}

/** Whether the upstream does not know the path, rather than the model. */
export function isPathUnknown(answer: Answer, error: UpstreamMessage): boolean {
  return (answer.status === 404 || answer.status === 405) && !isModelUnknown(answer, error)
}

/** nginx completes the handshake, and answers a web page. */
const NGINX_CERTIFICATE = /No required SSL certificate was sent|The SSL certificate error/
/** Statuses of a load balancer or a rate limit, which may not have looked at the path. */
const NO_ANSWER = new Set([429, 502, 503, 504])
/** Statuses that every call would get: some upstreams answer 403 for an unknown path, and 501 for a missing service. */
const NO_SERVICE = new Set([401, 403, 501])

/** Whether the answer to an empty request shows that the upstream serves the path; undefined if it does not say. */
export function isPathServed(answer: Answer, error: UpstreamMessage): boolean | undefined {
  const { status } = answer
  if (NO_ANSWER.has(status)) return undefined
  if (NO_SERVICE.has(status) || (status >= 300 && status < 400)) return false
  return !isPathUnknown(answer, error)
}

export function isModelUnknown(answer: Answer, error: UpstreamMessage): boolean {
  const { status } = answer
  const { code, type, param, message = '' } = error
  if (isParameterRejected(answer, error)) return false
  if (status !== 400 && status !== 403 && status !== 404 && status !== 422) return false
  if (MODEL_CODES.test(code) || MODEL_CODES.test(type)) return true
  if (type === 'not_found_error' && /^model/i.test(message)) return true
  return (param === 'model' || /model/i.test(message)) && NO_SUCH.test(message)
}

/** It rejects a parameter, not the model: `Unsupported parameter: 'messages' is not supported with this model.` */
function isParameterRejected({ status }: Answer, { code, message = '' }: UpstreamMessage): boolean {
  if (status !== 400 && status !== 422) return false
  return /^(?:unsupported|unknown|invalid)_parameter$/.test(code) || PARAMETER_REJECTED.test(message)
}

const PARAMETER_REJECTED =
  /\b(?:(?:unsupported|unknown|unrecognized|unexpected) (?:request )?(?:parameter|argument|field)|extra (?:inputs|fields) are not permitted)/i

/** The model works, but reasons for more tokens than the probe allows. */
export function ranOutOfTokens({ status }: Answer, { message = '' }: UpstreamMessage): boolean {
  return status === 400 && /could not finish|output limit was reached/i.test(message)
}

/** The model requires the newer name of the output limit. */
export function wantsOtherBound({ status }: Answer, { param, message = '' }: UpstreamMessage): boolean {
  return (
    (status === 400 || status === 422) &&
    (param === 'max_tokens' || message.includes('max_completion_tokens'))
  )
}

/** The diagnosis of an error answer without further requests; `diagnose` examines paths and models. */
export function statusDiagnosis(target: ProbeTarget, answer: Answer): Diagnosis {
  const { status } = answer
  const error = readMessage(answer)
  const at = new URL(target.origin).host
  const quote = redactQuote(error.message, target.secrets)
  const suffix = quote === '' ? '.' : `: ${quote}`
  const diagnosis = (fault: ProbeFault, cause: string, hint: string): Diagnosis => ({
    fault,
    cause,
    hint,
    status,
  })

  if (isUnpaid({ ...error, status, asksToWait: answer.asksToWait })) {
    const hint = 'Pay the bill or raise the limit of the account there.'
    return diagnosis('payment', `The account at ${at} has nothing left to spend (${status})${suffix}`, hint)
  }
  if (status === 400 && NGINX_CERTIFICATE.test(answer.body.toString('latin1', 0, 1_000)))
    return { ...clientCertificate(String(status), at, target.tls?.cert !== undefined), status }
  if (status >= 300 && status < 400) return redirect(target, answer, at)
  if (status === 401 || status === 403) return credential(target, answer, error, at)
  if (status < 300) return unexpectedBody(target, error, at, status)
  if (status >= 500) {
    const hint = 'See the log of the model server, and try again once it is healthy.'
    return diagnosis('upstream', `${at} answers ${status}${suffix}`, hint)
  }
  if (isParameterRejected(answer, error)) {
    const hint =
      'The probe sends `model`, `messages` and a limit of one token, as clients do. Does the model support this path? If calls with other parameters work, set `skip_probe: true`.'
    return diagnosis('request', `${at} does not accept a parameter of the probe (${status})${suffix}`, hint)
  }
  const hint = 'Fix what the message names. If the upstream accepts no minimal chat, set `skip_probe: true`.'
  return diagnosis('request', `${at} rejects a minimal chat with ${status}${suffix}`, hint)
}

function redirect(target: ProbeTarget, { status, location }: Answer, at: string): Diagnosis {
  const origin = originOf(location, target.origin) ?? ''
  const hasSecret = withoutSecrets(origin, target.secrets) !== origin
  const to = origin === '' || hasSecret ? undefined : origin
  const where = to === undefined ? 'elsewhere' : to === target.origin ? 'another of its paths' : `to ${to}`
  const hint =
    to === undefined || to === target.origin
      ? 'Set `base_url` to the address of the API itself.'
      : `If you trust ${to}, set \`base_url\` to it.`
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
    : `${at} requires a credential (${status}), and none is configured.`
  const hint = hasCredential
    ? `Set ${name} to a secret that is valid there, or correct \`upstream_key\` or \`auth\`.`
    : 'Set `upstream_key: { env: NAME }` or `{ file: /path }`.'
  return { fault: 'credential', cause, hint: hint + protocolDoubt(target, shape), status }
}

function protocolDoubt({ protocol }: ProbeTarget, shape: UpstreamMessage['shape']): string {
  if (shape === 'html')
    return ' The answer is a web page: perhaps of a proxy in between, or `base_url` is wrong.'
  return shape === OTHER[protocol]
    ? ` Its answer looks like the protocol ${shape}: is \`protocol: ${protocol}\` right?`
    : ''
}

/** A success status whose body is not an answer of the expected kind. */
function unexpectedBody(target: ProbeTarget, error: UpstreamMessage, at: string, status: number): Diagnosis {
  const { protocol } = target
  const diagnosis = (cause: string, hint: string): Diagnosis => ({ fault: 'protocol', cause, hint, status })
  if (error.shape === OTHER[protocol]) {
    return diagnosis(`${at} answers in the protocol ${error.shape}.`, `Set \`protocol: ${error.shape}\`.`)
  }
  const hint = 'Correct `base_url`: it ends with the version path of the API, such as `/v1`.'
  if (error.shape === 'html') return diagnosis(`${at} answers with a web page.`, hint)
  const quote = redactQuote(error.message, target.secrets)
  if (quote !== '')
    return diagnosis(`${at} answers ${status} with an error: ${quote}`, 'Fix what the message names.')
  return diagnosis(`${at} answers ${status}, but not with a chat of the protocol ${protocol}.`, hint)
}
