import { describe, expect, it, onTestFinished } from 'vitest'
import { formatProblem, problemJson } from '../../src/config/format.ts'
import { load } from '../../src/config/load.ts'
import { isSecretSlot } from '../../src/config/mask.ts'
import { DECLARED_KINDS } from '../../src/schema/kinds.ts'
import { secretReference } from '../../src/schema/scalars.ts'
import { tempDir } from '../support/temp-dir.ts'

/** Wherever people have been seen to put a secret; `CANARY` is where it stands. Each line stands alone. */
const ENDPOINT_SLOTS = [
  'upstream_key: CANARY',
  'upstream_key: "CANARY"',
  'upstream_key: [CANARY]',
  'upstream_key: {env: CANARY}',
  'upstream_key: {value: CANARY}',
  'upstream_key: {env: A_KEY, file: CANARY}',
  'upstream_key: {vault: {path: CANARY}}',
  'upstream_key: |\n      CANARY\n      CANARY',
  'upstream_key: >-\n      CANARY',
  'upstream_key: !secret CANARY',
  'upstream_key: ${GW_CANARY}',
  'upstream_key: ${CANARY',
  'upstream_kye: CANARY',
  'api_key: CANARY',
  'apiKey: CANARY',
  'token: CANARY',
  'password: CANARY',
  'client_secret: CANARY',
  'headers: {authorization: Bearer CANARY}',
  'headers: {x-api-key: CANARY, x-n: 1}',
  'headers: {cookie: CANARY}',
  'auth: sk-CANARY',
  'protocol: sk-CANARY',
  'base_url: http://user:CANARY@host/v1',
  'base_url: http://CANARY@host/v1',
  'base_url: http://host/v1?api_key=CANARY',
  'enabled: gw_CANARY',
  'sk-CANARY: 1',
  '# upstream_key: CANARY\n    enabled: 5',
  'upstream_key: CANARY ] }',
  'upstream_key: "CANARY',
  'upstream_key: CANARY\n   broken',
  'upstream_key: *CANARY',
] as const
const KEY_SLOTS = [
  'secret: CANARY',
  'secret: {value: CANARY}',
  'secret: {env: "CANARY"}',
  'secret: {file: CANARY}',
  'hash: CANARY',
  'hash: sha256:CANARY',
  'secret: &s CANARY\n    hash: *s',
] as const
const CANARY = 'canary5ecretValue0123456789'

const slots = [
  ...ENDPOINT_SLOTS.map(slot => ({ slot, section: 'endpoints', head: 'base_url: x' })),
  ...KEY_SLOTS.map(slot => ({ slot, section: 'keys', head: 'kind: platform' })),
]

describe('a secret in plain text appears in no message, frame, hint or JSON', () => {
  it.each(slots)('$slot', async ({ slot, section, head }) => {
    const dir = tempDir(onTestFinished)
    const planted = slot.replaceAll(/(?<!GW_)CANARY/g, CANARY)
    dir.write('gw.yaml', `version: 1\n${section}:\n  a:\n    ${planted}\n    ${head}\n    nonsense: 1\n`)
    const loaded = await load([dir.path], {
      environment: { GW_CANARY: CANARY },
      readStdin: async () => Buffer.alloc(0),
      known: new Set(),
    })
    expect(loaded.ok).toBe(false)
    for (const problem of loaded.problems) {
      const shown = formatProblem(problem, { colour: false }) + JSON.stringify(problemJson(problem))
      expect(shown.toLowerCase()).not.toContain('canary5ecret')
    }
  })
})

it('knows every field of the schema that takes a secret by its name', () => {
  const slots = Object.values(DECLARED_KINDS).flatMap(({ shape }) =>
    Object.entries(shape).flatMap(([name, schema]) =>
      'innerType' in schema.def && schema.def.innerType === secretReference ? [name] : [],
    ),
  )
  expect(slots).toEqual(['upstream_key', 'secret'])
  expect(slots.filter(name => !isSecretSlot(name))).toEqual([])
})
