/** Writes `docs/configuration.md` from the JSON Schema, which zod makes of the same shapes that validate files. */

const KINDS = [
  ['settings', '`settings`', 'Take effect without a restart.'],
  ['endpoint', '`endpoints.NAME`', 'An upstream: one model server, or one account at a vendor.'],
  ['publication', '`publications.NAME`', 'A public model name; the name is the key of the map.'],
  [
    'binding',
    '`bindings[]`',
    'One endpoint that serves one publication; inside a publication without `publication`.',
  ],
  ['tenant', '`tenants.NAME`', 'A customer, a team or a project.'],
  ['key', '`keys.NAME`', 'The policy of an API key. Its secret stands in no file.'],
]

export function configurationPage(schema, schemaOf) {
  return `# Configuration reference

Generated from the schema by \`npm run generate\`. \`gw explain endpoint.timeouts\` says the same on a terminal; editors read
[gw.schema.json](../schemas/gw.schema.json). [config.example/](../config.example) is a complete, commented configuration.

A file, or a directory of \`*.yaml\` in any arrangement, has these keys at its root: ${Object.keys(
    schema.properties,
  )
    .map(key => `\`${key}\``)
    .join(
      ', ',
    )}. Keys that begin with \`x-\` are ignored: a place for anchors. Unknown fields are errors. A duration is written
\`30s\`, \`5m\`, \`2h\` or \`30d\`, a size \`32MiB\`, money as an exact decimal. Values may hold \`\${GW_NAME}\` or
\`\${GW_NAME:-default}\`; a secret is a reference, \`{ env: NAME }\` or \`{ file: /path }\`.

${KINDS.map(([kind, title, text]) => section(kind, title, text, schemaOf(kind))).join('\n')}`
}

function section(kind, title, text, root) {
  const rows = fields(root, root, '')
  const body = rows.map(
    row => `| ${row.map(cell => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`,
  )
  return `## ${title}

${text}

| field (* required) | value | default | what it is |
|---|---|---|---|
${body.join('\n')}
`
}

/** A row for each field; those of objects are named by their path. */
function fields(root, node, lead) {
  const object = objectOf(root, node)
  const required = new Set(object?.required ?? [])
  return Object.entries(object?.properties ?? {}).flatMap(([name, written]) => {
    const field = resolved(root, written)
    const path = `${lead}${name}`
    const inner = objectOf(root, field)
    const isGroup = inner !== undefined && inner.properties !== undefined && !field.anyOf && !field.oneOf
    const row = [
      `\`${path}\`${required.has(name) && written.default === undefined ? ' *' : ''}`,
      isGroup ? '' : valueOf(root, field),
      isGroup || field.default === undefined ? '' : `\`${JSON.stringify(field.default)}\``,
      written.description ?? field.description ?? '',
    ]
    return [row, ...(isGroup ? fields(root, field, `${path}.`) : [])]
  })
}

function resolved(root, node) {
  if (node?.$ref === undefined) return node
  const target = node.$ref
    .replace(/^#\/?/, '')
    .split('/')
    .filter(part => part !== '')
    .reduce((at, part) => at?.[part], root)
  return { ...resolved(root, target), ...node, $ref: undefined }
}

function objectOf(root, node) {
  const target = resolved(root, node)
  if (target?.properties !== undefined) return target
  if (target?.allOf?.length === 1) return objectOf(root, target.allOf[0])
  return undefined
}

function valueOf(root, node) {
  const field = resolved(root, node)
  if (field === undefined) return ''
  if (field.enum) return field.enum.map(value => `\`${value}\``).join(', ')
  if (field.const !== undefined) return `\`${field.const}\``
  const options = field.anyOf ?? field.oneOf
  if (options)
    return [
      ...new Set(
        options
          .filter(option => !option.$ref?.endsWith('/interpolated'))
          .map(option => valueOf(root, option)),
      ),
    ]
      .filter(Boolean)
      .join(' or ')
  if (field.type === 'array') return `list of ${valueOf(root, field.items) || 'values'}`
  if (field.properties)
    return `{ ${Object.keys(field.properties)
      .map(name => `\`${name}\``)
      .join(', ')} }`
  if (field.type === 'object') return 'map'
  if (field.type === 'string') return 'text'
  return [field.type].flat().filter(Boolean).join(' or ')
}
