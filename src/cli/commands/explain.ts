import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import type { Field } from '../../schema/fields.ts'
import type { Json } from '../../schema/kinds.ts'
import { type ExplainedCode, type ExplainedField, type Explanation, explain } from '../../services/explain.ts'
import { newCommand } from '../new-command.ts'
import type { Style } from '../output/style.ts'
import { table } from '../output/table.ts'
import { wrapText } from '../output/wrap-text.ts'
import type { BindHandler } from '../session.ts'

const SOURCES: Record<ExplainedCode['audience'], string> = {
  command: 'error of commands',
  configuration: 'error of configuration files',
  client: 'error of /v1',
  'control plane': 'error of /api/v1',
  health: 'reason of /health',
}

/** `gw explain`: the meaning of a field or a code, offline. */
export function explainCommand(bind: BindHandler): Command {
  return newCommand('explain', 'Explain a field of the configuration or an error code.', [
    'gw explain endpoint.timeouts.idle',
    'gw explain GW1202',
    'gw explain rate_limit_exceeded',
    'gw explain reload_rejected  # a reason of /health',
    'gw explain                 # the kinds of resources',
  ])
    .argument('[field-or-code]', 'a path as in a file, the name of a field, or a code')
    .action(
      bind(async ({ out }, [word]) => {
        const explanation = explain(word)
        out.result({
          text: () => toText(explanation, out.style, out.width),
          json: () => toJson(explanation),
        })
        return EXIT.done
      }),
    )
}

function toText(explanation: Explanation, style: Style, width: number | undefined): string {
  if (explanation.of === 'codes') {
    return explanation.codes.map(code => codeToText(code, style, width)).join('\n')
  }
  if (explanation.of === 'field') return fieldToText(explanation.field, style, width)
  return fieldsToText(explanation.fields, style, width, path => path)
}

function codeToText(
  { code, wire, audience, title, hint, exit, status }: ExplainedCode,
  style: Style,
  width: number | undefined,
): string {
  const number = exit === undefined ? status && `, status ${status}` : `, exit code ${exit}`
  const named = wire === undefined ? '' : `, as \`${wire}\``
  const about = `${SOURCES[audience]}${number ?? ''}${named}`
  return `${style.strong(code)}  ${style.faint(about)}\n${wrapText(title, width, 2)}${wrapText(hint, width, 2)}`
}

function fieldToText(field: ExplainedField, style: Style, width: number | undefined): string {
  const { path, description, type, initial, required, members } = field
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['type', type],
    ['default', initial],
    ['required', required ? 'yes' : undefined],
  ]
  const lines = facts.flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${style.faint(name.padEnd(8))}  ${value}\n`],
  )
  const below =
    members.length === 0
      ? ''
      : `\n${fieldsToText(members, style, width, each => each.slice(path.length + 1))}`
  return `${style.strong(path)}\n${description === '' ? '' : wrapText(description, width, 2)}\n${lines.join('')}${below}`
}

function fieldsToText(
  fields: readonly Field[],
  style: Style,
  width: number | undefined,
  name: (path: string) => string,
): string {
  return table(
    [
      { title: 'FIELD', cell: ({ path }) => name(path) },
      {
        title: 'DEFAULT',
        cell: ({ initial, required }) => initial ?? (required ? 'required' : '-'),
        narrowest: 7,
      },
      { title: 'MEANING', cell: ({ description }) => description, narrowest: 12 },
    ],
    fields,
    style,
    width,
  )
}

function toJson(explanation: Explanation): Json {
  if (explanation.of === 'codes') return { codes: explanation.codes.map(code => ({ ...code })) }
  if (explanation.of === 'fields') return { fields: explanation.fields.map(fieldToJson) }
  const { members, ...field } = explanation.field
  return { field: { ...fieldToJson(field), members: members.map(fieldToJson) } }
}

function fieldToJson({ path, description, type, initial, required }: Field): {
  readonly [member: string]: Json
} {
  return { path, description, type, default: initial ?? null, required }
}
