import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { load } from '../../src/config/load.ts'
import { configSchema, testsSchema } from '../../src/schema/publish.ts'
import { EXAMPLE_CONFIG } from '../support/whole-gateway.ts'

const ports = { environment: {}, readStdin: () => Promise.resolve(Buffer.alloc(0)), known: new Set<string>() }
const files = readdirSync(EXAMPLE_CONFIG)

/** Tests stand beside the configuration, and have a schema of their own. */
const schemaLine = (file: string) =>
  `# yaml-language-server: $schema=../schemas/${file.endsWith('.test.yaml') ? 'gw-tests' : 'gw'}.schema.json`

describe('config.example', () => {
  test('is valid as a whole, without a warning', async () => {
    const loaded = await load([EXAMPLE_CONFIG], ports)
    expect(loaded.problems).toEqual([])
    expect(loaded.ok).toBe(true)
  })

  test.each(files)('%s points editors to the schema', file => {
    const [first] = readFileSync(join(EXAMPLE_CONFIG, file), 'utf8').split('\n')
    expect(first).toBe(schemaLine(file))
  })
})

describe('the JSON Schema for editors', () => {
  test('is what the source says: run `npm run generate` where this fails', () => {
    const committed = readFileSync(new URL('../../schemas/gw.schema.json', import.meta.url), 'utf8')
    expect(JSON.parse(committed)).toEqual(JSON.parse(JSON.stringify(configSchema())))
  })

  test('of files of tests is, too', () => {
    const committed = readFileSync(new URL('../../schemas/gw-tests.schema.json', import.meta.url), 'utf8')
    expect(JSON.parse(committed)).toEqual(JSON.parse(JSON.stringify(testsSchema())))
  })

  test('describes every field of every resource', () => {
    const { definitions } = configSchema() as {
      definitions: Record<string, { properties?: Record<string, object> }>
    }
    const bare = Object.entries(definitions).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties)
        .filter(([, schema]) => !('description' in schema) && !('default' in schema))
        .map(([field]) => `${name}.${field}`),
    )
    expect(bare).toEqual([])
  })
})
