import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { checkedQuery } from '../../../src/admin/reading.ts'
import { openApi } from '../../../src/schema/api/openapi.ts'
import { API_PREFIX, type OperationId, operation } from '../../../src/schema/api/operations.ts'
import { modelName } from '../../../src/schema/scalars.ts'

type Schema = Parameters<typeof z.fromJSONSchema>[0]
interface Documented {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> }
  readonly parameters?: readonly { readonly name: string; readonly schema: object }[]
}

/** The document as a client reads it. */
const document = JSON.parse(
  JSON.stringify(openApi('0.0.0')).replaceAll('#/components/schemas/', '#/$defs/'),
) as {
  readonly paths: Record<string, Record<string, Documented>>
  readonly components: { readonly schemas: Record<string, object> }
}

function documentedOf(id: OperationId): Documented {
  const { method, path } = operation(id)
  return document.paths[`${API_PREFIX}${path}`]?.[method.toLowerCase()] ?? {}
}

function isValid(schema: object | undefined, value: unknown): boolean {
  const whole = { ...schema, $defs: document.components.schemas }
  return z.fromJSONSchema(whole as Schema).safeParse(value).success
}

const URL_OF = (length: number) => `http://x/${'v'.repeat(length - 9)}`
const ENDPOINT = { name: 'e', protocol: 'openai', base_url: 'http://x/v1', served_model: 'm' }
const BOOKING = { amount: '1', reference: 'r' }

/** A body that is right, one field of it, and values of it on both sides of each bound. */
const BODIES: readonly (readonly [OperationId, object, string, readonly unknown[]])[] = [
  [
    'credit_wallet',
    BOOKING,
    'amount',
    [
      0,
      1,
      0.5,
      -1,
      '0',
      '0.00',
      '-1',
      '1.5',
      '1e3',
      '0.000000001',
      '0.0000000001',
      9_223_372_036,
      9_223_372_037,
    ],
  ],
  ['debit_wallet', BOOKING, 'amount', [0, '0.0', '00', '01', 2]],
  [
    'create_endpoint',
    ENDPOINT,
    'base_url',
    [
      'http://x/v1',
      'https://x',
      'ftp://x/v1',
      'x/v1',
      '',
      'http://x/v1?a=b',
      'http://x/v1#a',
      'http://user:secret@x/v1',
      'http://x /v1',
      URL_OF(2_048),
      URL_OF(2_049),
    ],
  ],
  ['explain_secret', { secret: 's' }, 'max_tokens', [0, -1, 1.5, 100_000_000, 100_000_001]],
]

describe.each(BODIES)('%s', (id, right, field, values) => {
  test.each(values.map(value => [value]))(
    `takes ${field} %j where the document says so, and nowhere else`,
    value => {
      const content = documentedOf(id).requestBody?.content['application/json']
      const body = { ...right, [field]: value }
      expect(isValid(content?.schema, right)).toBe(true)
      expect(operation(id).body?.safeParse(body).success).toBe(isValid(content?.schema, body))
    },
  )
})

test.each([0, -1, 100_000_000, 100_000_001, Number.MAX_SAFE_INTEGER])(
  'explain takes max_tokens %j where the document says so, and nowhere else',
  value => {
    const parameter = documentedOf('explain').parameters?.find(({ name }) => name === 'max_tokens')
    const take = () => checkedQuery(operation('explain').query, `?key=k&max_tokens=${value}`)
    if (isValid(parameter?.schema, value)) expect(take()).toMatchObject({ max_tokens: value })
    else expect(take).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  },
)

test.each(['p', '.', '..', '__proto__', '...', 'a b', '', 'gpt-4o', '.__proto__'])(
  'a model name %j is taken where the pattern in the document says so, and nowhere else',
  name => {
    const { pattern = '' } = z.toJSONSchema(modelName)
    expect(modelName.safeParse(name).success).toBe(new RegExp(pattern, 'u').test(name))
  },
)
