/**
 * Writes test/support/openai-schemas/schemas.json: from OpenAI's published OpenAPI document, the request bodies of the
 * paths that the gateway serves, with the schemas that they refer to.
 *
 *     node scripts/openai-schemas.mjs openapi.json
 *
 * The document is at https://github.com/openai/openai-openapi. Left out: everything that judges no value. Rewritten, so
 * that a validator of JSON Schema 2020-12 takes it: `nullable`, `$recursiveRef`, and `oneOf`, as several may match.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'

const PATHS = [
  '/chat/completions',
  '/completions',
  '/responses',
  '/responses/compact',
  '/responses/input_tokens',
  '/embeddings',
  '/images/generations',
  '/images/edits',
  '/audio/speech',
  '/audio/transcriptions',
  '/audio/translations',
  '/moderations',
]

/** Keywords that say nothing about a value, or that a validator does not know. */
const DROPPED = new Set([
  'default',
  'deprecated',
  'description',
  'discriminator',
  'example',
  'examples',
  'externalDocs',
  'format',
  'title',
  '$recursiveAnchor',
])
const LITERAL = new Set(['const', 'enum', 'required', 'type'])

const [file = 'openapi.json'] = process.argv.slice(2)
const published = JSON.parse(readFileSync(file, 'utf8'))
const schemas = new Map()

const bodies = PATHS.map(path => {
  const { content } = published.paths[path].post.requestBody
  const byType = Object.entries(content).map(([type, { schema }]) => [type, reduce(schema)])
  return [path, Object.fromEntries(byType)]
})

const reduced = {
  $id: 'openai.json',
  source: `https://github.com/openai/openai-openapi, version ${published.info.version}, MIT: see LICENSE`,
  paths: Object.fromEntries(bodies),
  components: { schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))) },
}
const target = new URL('../test/support/openai-schemas/schemas.json', import.meta.url)
writeFileSync(target, `${JSON.stringify(reduced, undefined, 2)}\n`)

function reduce(schema, owner) {
  if (Array.isArray(schema)) return schema.map(each => reduce(each, owner))
  if (schema === null || typeof schema !== 'object') return schema
  const entries = Object.entries(schema).filter(
    ([keyword]) => !DROPPED.has(keyword) && !keyword.startsWith('x-'),
  )
  const { nullable, ...kept } = Object.fromEntries(entries.map(entry => reduceKeyword(entry, owner)))
  return nullable === true ? { anyOf: [kept, { type: 'null' }] } : kept
}

function reduceKeyword([keyword, value], owner) {
  if (LITERAL.has(keyword)) return [keyword, value]
  if (keyword === '$ref') return [keyword, keep(value)]
  if (keyword === '$recursiveRef') return ['$ref', `#/components/schemas/${owner}`]
  if (keyword === 'properties') {
    const properties = Object.entries(value).map(([name, schema]) => [name, reduce(schema, owner)])
    return [keyword, Object.fromEntries(properties)]
  }
  return [keyword === 'oneOf' ? 'anyOf' : keyword, reduce(value, owner)]
}

function keep(reference) {
  const name = reference.split('/').at(-1)
  if (!schemas.has(name)) {
    schemas.set(name, undefined) // schemas refer to each other in circles
    schemas.set(name, reduce(published.components.schemas[name], name))
  }
  return reference
}
