import { isSecretHeader } from '../../base/secret-shapes.ts'
import { holdsSecret, secretShapes } from '../../config/mask.ts'
import { isReservedHeader } from '../../schema/endpoint.ts'
import type { Protocol } from '../../schema/protocol.ts'
import { modelName } from '../../schema/scalars.ts'
import { type Price, priceOf } from './money.ts'
import type { Part } from './parts.ts'
import { isTranslated, type NamedModel, namedModel, type Provider, providerFor } from './providers.ts'

/** The endpoint of one deployment, without its name: deployments with equal fields share an account. */
export interface Account {
  readonly providerName: string
  readonly protocol: Protocol
  readonly baseUrl: string
  /** The environment variable with the credential. */
  readonly keyVariable?: string
  /** Only if it differs from the protocol's default. */
  readonly auth?: 'bearer' | 'x-api-key'
  readonly headers: Headers
  /** The longest silence: before the first byte and between two bytes. */
  readonly silence?: Silence
  readonly maxConcurrency?: number
}

/** A secret value as a reference to a variable. */
type Headers = Readonly<Record<string, string | { readonly env: string }>>

/**
 * LiteLLM's `timeout` is that of its HTTP client: it limits each wait for bytes, not the whole answer, so it never
 * cuts a stream that continues.
 */
export interface Silence {
  readonly text: string
  readonly ms: number
}

/** A parsed entry of `model_list`. */
export interface Deployment {
  readonly publication: string
  /** The place of its name. */
  readonly named: Part
  readonly account: Account
  readonly servedModel: string
  readonly weight: number
  readonly priority: number
  readonly price: Price
  readonly window: Window
}

/** The token limits of a model. */
export interface Window {
  readonly maxInput: number | undefined
  readonly maxOutput: number | undefined
  /** Its place. */
  readonly parts: readonly Part[]
}

const MODES = new Set([
  'chat',
  'completion',
  'responses',
  'embedding',
  'rerank',
  'moderation',
  'image_generation',
  'image_edit',
  'audio_transcription',
  'audio_speech',
])
/** Placeholder keys for servers without a key, because client libraries require one. */
const NO_KEY = /^(?:|none|null|empty|dummy|fake|fake-key|no-key|not-needed|anything)$/i

const TEMPLATE = 'LiteLLM does not fill in `${…}`: fill in the template first'

/** Whether a text has variables, but is not one as a whole, which {@link variableIn} reads. */
function isTemplate(text: string | undefined): boolean {
  return text?.includes('${') === true && variableIn(text) === undefined
}

/** Whether gw can publish a model of that name. */
export function isModelName(name: string): boolean {
  return modelName.safeParse(name).success && !name.includes('*')
}

/** An element of `credential_list`. */
export interface Credential {
  readonly name: Part
  readonly values: Part
}

/** Fields shared by several entries: named credentials, and the timeout of the whole file. */
export interface Shared {
  readonly credentials: ReadonlyMap<string, Credential>
  readonly silence?: Silence
}

/** @returns undefined if the entry cannot be imported; its part gets the reason. */
export function readDeployment(entry: Part, shared: Shared): Deployment | undefined {
  const params = entry.member('litellm_params')
  const nameOf = entry.member('model_name')
  const modelOf = params?.member('model')
  if (!params || nameOf?.text === undefined || modelOf?.text === undefined) {
    return entry.leave('an entry without `model_name` or `litellm_params.model`')
  }
  if (!isModelName(nameOf.text)) {
    return entry.leave(
      `\`${nameOf.text}\`: gw publishes single models: a name with \`*\` or spaces is not supported`,
    )
  }
  const credential = credentialOf(params, shared)
  const address = firstOf([params, credential], ['api_base', 'base_url'])
  const key = firstOf([params, credential], ['api_key'])
  const template =
    [nameOf, modelOf].find(({ text }) => text?.includes('${')) ??
    [address, key].find(part => isTemplate(part?.text))
  if (template) return entry.leave(`\`${template.path.at(-1)}\`: ${TEMPLATE}`)
  const info = entry.member('model_info')
  const modeOf = info?.member('mode')
  if (modeOf && !MODES.has(modeOf.text ?? '')) {
    return entry.leave(`\`${nameOf.text}\`: gw serves no models of the mode \`${modeOf.text ?? ''}\``)
  }
  const custom = params.member('custom_llm_provider')
  const named = namedModel(modelOf.text, custom?.text)
  const provider = providerOf(named, params, modeOf?.text)
  if (provider === undefined || isTranslated(named.providerName)) {
    return entry.leave(
      `\`${nameOf.text}\`: gw speaks the OpenAI and the Anthropic protocol, and translates nothing`,
    )
  }
  if (named.isGuess && !address) {
    return entry.leave(
      `\`${named.model}\` has no provider, and is no known model of OpenAI or Anthropic: write \`provider/model\``,
    )
  }
  const baseUrl = baseUrlOf(provider, address)
  if (baseUrl === undefined)
    return entry.leave(`\`${nameOf.text}\`: its address is missing, or none that gw takes`)
  for (const part of [nameOf, modelOf, custom, modeOf]) part?.keep()
  return {
    publication: nameOf.text,
    named: nameOf,
    account: {
      providerName: named.providerName,
      protocol: provider.protocol,
      baseUrl,
      ...keyOf(provider, baseUrl, { key, address }, nameOf.text),
      headers: headersOf(params, nameOf.text),
      ...timeoutOf(params, shared),
      ...concurrencyOf(params),
    },
    servedModel: named.model,
    weight: weightOf(params.member('weight')) ?? 1,
    priority: Math.max(0, (wholeNumber(params.member('order'), 1) ?? 1) - 1),
    price: priceOf([params, info], modeOf?.text),
    window: windowOf(info),
  }
}

/** An unknown provider with an address is assumed to use the OpenAI protocol. */
function providerOf(named: NamedModel, params: Part, mode: string | undefined): Provider | undefined {
  const known = providerFor(named.providerName, mode)
  if (known || isTranslated(named.providerName)) return known
  const base = params.member('api_base') ?? params.member('base_url')
  base?.note(`\`${named.providerName}\` is assumed to be a server of the OpenAI protocol: probe it`)
  return base && { protocol: 'openai' }
}

function credentialOf(params: Part, { credentials }: Shared): Part | undefined {
  const name = params.member('litellm_credential_name')
  const found = name?.text === undefined ? undefined : credentials.get(name.text)
  if (found === undefined) return undefined
  name?.keep()
  found.name.keep()
  return found.values
}

type Places = readonly (Part | undefined)[]

function firstOf(places: Places, names: readonly string[]): Part | undefined {
  for (const place of places) {
    for (const name of names) {
      const part = place?.member(name)
      if (part) return part
    }
  }
  return undefined
}

function baseUrlOf(provider: Provider, given: Part | undefined): string | undefined {
  if (given?.text === undefined) return provider.baseUrl
  const { suffix = '' } = provider
  const variable = variableIn(given.text)
  if (variable !== undefined) {
    given
      .keep()
      .note(
        `the address was in ${variable}: set GW_${variable} in the environment of gw, without a slash at its end`,
      )
    return `${given.tally.addressFor(variable)}${suffix}`
  }
  const url = URL.canParse(given.text) ? new URL(given.text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || !/^[\w.:[\]-]+$/.test(url.hostname))
    return undefined
  if (url.username || url.password || url.search || url.hash) return undefined
  given.keep()
  // Azure's older addresses continue with the deployment, which is the model here.
  const givenPath = url.pathname.replace(/\/+$/, '')
  const path = givenPath.replace(/\/openai\/deployments\/.*$|\/chat\/completions$|\/messages$/, '')
  if (path !== givenPath) given.note('gw appends the path of each request itself: cut off here')
  return url.origin + joined(path, suffix)
}

/** A path and what has to follow, of which it may have the beginning: `/openai` and `/openai/v1`. */
function joined(path: string, suffix: string): string {
  const steps = suffix.split('/').slice(1)
  for (let length = steps.length; length > 0; length--) {
    const start = `/${steps.slice(0, length).join('/')}`
    if (path.endsWith(start)) return path + suffix.slice(start.length)
  }
  return path + suffix
}

/** The key of a vendor is sent only to that vendor, unless the file sends it elsewhere. */
function keyOf(
  provider: Provider,
  baseUrl: string,
  { key: given, address }: Readonly<Record<'key' | 'address', Part | undefined>>,
  publication: string,
): { keyVariable?: string } {
  if (given?.text === undefined) {
    const { keyVariable } = provider
    if (keyVariable === undefined) return {}
    if (provider.baseUrl === undefined || provider.baseUrl === baseUrl) return { keyVariable }
    address?.note(
      `it gets no credential: that of ${keyVariable} belongs to ${new URL(provider.baseUrl).host}. Add \`upstream_key\` if it needs one`,
    )
    return {}
  }
  const variable = variableIn(given.text)
  if (variable !== undefined) {
    given.keep()
    return { keyVariable: variable }
  }
  if (NO_KEY.test(given.text)) {
    given.keep()
    return {}
  }
  const keyVariable = given.tally.variableFor(given.text, `${variableName(publication)}_API_KEY`)
  given.keep().note(`the file contains a key, which was not copied: put it into ${keyVariable}`)
  return { keyVariable }
}

function headersOf(params: Part, publication: string): Headers {
  const headers: Record<string, string | { readonly env: string }> = {}
  for (const [name, part] of params.member('extra_headers')?.members() ?? []) {
    const { text } = part
    const variable = text === undefined ? undefined : variableIn(text)
    if (text === undefined) part.leave('a header has a text')
    else if (isReservedHeader(name))
      part.leave('gw sets this header itself: a credential belongs in `upstream_key`')
    else if (isTemplate(text)) part.leave(TEMPLATE)
    else if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(text)) part.leave('HTTP allows no such header')
    else if (variable !== undefined) {
      part.keep()
      headers[name] = { env: variable }
    } else if (mayBeSecret(name, text)) {
      const env = part.tally.variableFor(text, `${variableName(publication)}_${variableName(name)}`)
      part.keep().note(`the file contains a secret, which was not copied: put it into ${env}`)
      headers[name] = { env }
    } else {
      part.keep()
      if (!PUBLIC_HEADER.test(name))
        part.note('copied as it is: if it is a secret, write `{ env: VARIABLE }` instead')
      headers[name] = text
    }
  }
  const organization = params.member('organization')
  if (organization?.text !== undefined && variableIn(organization.text) === undefined) {
    organization.keep()
    headers['openai-organization'] = organization.text
  }
  return headers
}

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e]*$/
/** Headers that are known to hold no secret. */
const PUBLIC_HEADER = /^(?:anthropic-(?:beta|version)|http-referer|x-title|user-agent|accept(?:-\w+)?)$/i
const SECRET_NAME =
  /(?:^|[-_])(?:pass(?:word|wd|phrase)?|pwd|secret|signature|sig|token|auth|authorization|\w*key|cred\w*|cookie|session)(?:$|[-_])/i
/** A long word without spaces, in hexadecimal digits or base64. */
const SECRET_VALUE = /^[\w+/=-]{20,}$/

/** In doubt yes: a reference costs a variable, a copy a secret. */
function mayBeSecret(name: string, text: string): boolean {
  if (PUBLIC_HEADER.test(name)) return isSecretHeader(name, text)
  return (
    SECRET_NAME.test(name) ||
    SECRET_VALUE.test(text) ||
    holdsSecret(name, text) ||
    secretShapes(text).length > 0 ||
    isSecretHeader(name, text)
  )
}

function timeoutOf(params: Part, shared: Shared): { silence?: Silence } {
  const silence = silenceOf(params.member('timeout')) ?? shared.silence
  return silence === undefined ? {} : { silence }
}

/** LiteLLM's seconds as a duration of gw. */
export function silenceOf(part: Part | undefined): Silence | undefined {
  const ms = Math.round(Number(part?.text ?? Number.NaN) * 1_000)
  if (!(ms >= 1 && ms <= 86_400_000)) return undefined
  part?.keep()
  return { ms, text: ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms` }
}

function concurrencyOf(params: Part): { maxConcurrency?: number } {
  const maxConcurrency = wholeNumber(params.member('max_parallel_requests'), 1)
  return maxConcurrency === undefined ? {} : { maxConcurrency }
}

function windowOf(info: Part | undefined): Window {
  const input = info?.member('max_input_tokens')
  const output = info?.member('max_output_tokens') ?? info?.member('max_tokens')
  return {
    maxInput: wholeNumber(input, 1),
    maxOutput: wholeNumber(output, 1),
    parts: [input, output].filter(part => part !== undefined),
  }
}

/** A share of any scale, such as 0.9: `wholeWeights` makes whole numbers of those of one priority. */
function weightOf(part: Part | undefined): number | undefined {
  const number = Number(part?.text ?? Number.NaN)
  if (!(number >= 0 && number <= 1e12)) return undefined
  part?.keep()
  return number
}

function wholeNumber(part: Part | undefined, least: number): number | undefined {
  const number = Number(part?.text ?? Number.NaN)
  if (!Number.isSafeInteger(number) || number < least || number > 1_000_000_000) return undefined
  part?.keep()
  return number
}

const REFERENCE = /^(?:os\.environ\/([A-Za-z_][A-Za-z0-9_]*)|\$\{([A-Za-z_][A-Za-z0-9_]*)\})$/

/** The variable of `os.environ/NAME`; also of `${NAME}`, which templates fill in before LiteLLM reads the file. */
export function variableIn(text: string): string | undefined {
  const [, name, templated] = REFERENCE.exec(text) ?? []
  return name ?? templated
}

/** A model name as a variable name: `openai/gpt-4.1` is `OPENAI_GPT_4_1`. */
function variableName(name: string): string {
  const bare = name
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  return /^[A-Z]/.test(bare) ? bare : `MODEL_${bare}`
}
