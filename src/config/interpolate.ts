import type { ConfigCode } from '../base/catalogue/config.ts'
import { didYouMean } from './did-you-mean.ts'
import type { Plain } from './node.ts'
import type { Variables } from './types.ts'

/** The interpolated text, or the errors. Offsets are into the given text. */
export type Interpolated =
  | { readonly ok: true; readonly text: string; readonly usesVariables: boolean }
  | { readonly ok: false; readonly faults: readonly InterpolationFault[] }

interface InterpolationFault {
  readonly code: ConfigCode
  readonly text: string
  readonly hint?: string
}

const DOLLAR = /\$(?:\$|\{([^}]*)(\}?))/g
const EXPRESSION = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^]*))?$/
const ALONE = /^\$\{[^}]*\}$/
const LISTED_FAULTS = 10

/**
 * Replaces `${GW_NAME}` and `${GW_NAME:-default}` (used if the variable is unset or empty, as in a shell), and `$$` by
 * `$`. Not recursive: the value of a variable is never interpolated again.
 */
export function interpolate(text: string, environment: Variables): Interpolated {
  if (!text.includes('$')) return { ok: true, text, usesVariables: false }
  const faults: InterpolationFault[] = []
  let usesVariables = false
  const filled = text.replace(
    DOLLAR,
    (whole, expression: string | undefined, closing: string | undefined) => {
      if (expression === undefined) return '$'
      const value = closing === '}' ? evaluate(expression, environment) : MALFORMED
      if (typeof value === 'string') {
        usesVariables = true
        return value
      }
      if (faults.length < LISTED_FAULTS) faults.push(value)
      return whole
    },
  )
  return faults.length > 0 ? { ok: false, faults } : { ok: true, text: filled, usesVariables }
}

/** Whether a text is a single `${…}`, so that its value may be a number or a boolean. */
export function isOneVariable(text: string): boolean {
  return ALONE.test(text)
}

const MALFORMED: InterpolationFault = { code: 'malformed_interpolation', text: 'a malformed `${…}`' }

function evaluate(expression: string, environment: Variables): string | InterpolationFault {
  const [, name, preset] = EXPRESSION.exec(expression) ?? []
  if (name === undefined || preset?.includes('${')) return MALFORMED
  if (!name.startsWith('GW_')) {
    const hint = `only GW_… may be read into a configuration; a secret is a reference: \`{ env: ${name} }\``
    return { code: 'variable_not_allowed', text: `\`${name}\` does not start with GW_`, hint }
  }
  if (environment === null) {
    return {
      code: 'variable_not_allowed',
      text: `\`${name}\` is not filled in: documents over REST have no variables`,
      hint: 'write its value, or `$$` for a plain dollar sign; files that `gw` reads may use variables',
    }
  }
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined
  if (value !== undefined && (value !== '' || preset === undefined)) return value
  if (preset !== undefined) return preset
  const near = didYouMean(
    name,
    Object.keys(environment).filter(other => other.startsWith('GW_')),
  )
  return {
    code: 'variable_not_set',
    text: `the environment variable \`${name}\` is not set`,
    ...(near !== undefined && { hint: `did you mean \`${near}\`?` }),
  }
}

/** The value of an unquoted text in the core schema (YAML 1.2 §10.3.2). */
export function plainValue(text: string): Plain {
  if (/^(?:~|null|Null|NULL|)$/.test(text)) return null
  if (/^(?:true|True|TRUE)$/.test(text)) return true
  if (/^(?:false|False|FALSE)$/.test(text)) return false
  if (/^[-+]?[0-9]+$/.test(text) || /^0o[0-7]+$/.test(text) || /^0x[0-9a-fA-F]+$/.test(text))
    return Number(text)
  if (/^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/.test(text)) return Number(text)
  if (/^[-+]?\.(?:inf|Inf|INF)$/.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  if (/^\.(?:nan|NaN|NAN)$/.test(text)) return Number.NaN
  return text
}
