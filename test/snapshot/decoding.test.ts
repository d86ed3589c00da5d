import { describe, expect, it } from 'vitest'
import { keyDigest } from '../../src/base/api-key.ts'
import type { ServedState } from '../../src/schema/state.ts'
import type { Decoded } from '../../src/snapshot/decoding.ts'
import type { Snapshot } from '../../src/snapshot/types.ts'
import { compileAgain, shown } from './again.ts'
import { stateOf } from './configured.ts'

const yaml = (tenant = '', extra = '') => `
version: 1
tenants: { t: { ${tenant} } }
keys:
  a: { kind: tenant, tenant: t, hash: "sha256:${'a'.repeat(64)}" }
  b: { kind: platform, secret: { env: B } }
  c: { kind: platform, models: [x*] }
  ${extra}
`
const SECRET = 'a secret of twenty characters'
const NEW = '1'.repeat(64)
const OLD = '2'.repeat(64)

/** The same resources where their text has not changed, as the store gives them. */
async function next(
  before: ServedState,
  text: string,
  more: Partial<ServedState> = {},
): Promise<ServedState> {
  const state = await stateOf(text, more)
  const resources = state.resources.map(
    resource =>
      before.resources.find(other => JSON.stringify(other) === JSON.stringify(resource)) ?? resource,
  )
  return { ...state, resources }
}

function served(state: ServedState, before?: Decoded): { decoded: Decoded; snapshot: Snapshot } {
  const { decoded, compiled } = compileAgain(state, before, () => SECRET)
  if (!compiled.ok) throw new Error(compiled.problems.join('\n'))
  // Whatever was taken from before: it is what a gateway would have that has just started.
  const fresh = compileAgain(state, undefined, () => SECRET).compiled
  if (!fresh.ok) throw new Error(fresh.problems.join('\n'))
  const models = ['x', 'x1', 'y']
  expect(shown(compiled.snapshot, models)).toEqual(shown(fresh.snapshot, models))
  return { decoded, snapshot: compiled.snapshot }
}

const names = ({ keys }: Snapshot) => [...keys.values()].map(({ name }) => name)
const entryOf = ({ keys }: Snapshot, name: string) => [...keys.values()].find(key => key.name === name)

describe('a state that follows another', () => {
  const secrets = [
    { key: 'c', digest: OLD, expiresAtMs: 5 },
    { key: 'c', digest: NEW },
  ]

  it('takes over what has not changed, entry by entry', async () => {
    const first = await stateOf(yaml(), { secrets })
    const one = served(first)
    const two = served(
      await next(first, yaml('', 'd: { kind: platform }'), { secrets, revision: 2 }),
      one.decoded,
    )
    expect(names(two.snapshot)).toEqual(names(one.snapshot))
    for (const name of ['a', 'b']) expect(entryOf(two.snapshot, name)).toBe(entryOf(one.snapshot, name))
    expect(two.snapshot.keys.get(NEW)).toBe(one.snapshot.keys.get(NEW))
    expect(two.snapshot.tenants.get('t')).toBe(one.snapshot.tenants.get('t'))
    expect(two.snapshot.revision).toBe(2)
  })

  it('gives the keys of a tenant that has changed the new one', async () => {
    const first = await stateOf(yaml())
    const one = served(first)
    const two = served(await next(first, yaml('status: banned')), one.decoded)
    expect(entryOf(two.snapshot, 'a')?.tenant?.status).toBe('banned')
    expect(entryOf(one.snapshot, 'a')?.tenant?.status).toBe('active')
    expect(entryOf(two.snapshot, 'b')).toBe(entryOf(one.snapshot, 'b'))
  })

  it('hears of holds, of secrets that came or went, and of keys that are gone', async () => {
    const first = await stateOf(yaml(), { secrets })
    const one = served(first)
    const held = served({ ...first, suspendedKeys: ['a', 'c'], secrets: secrets.slice(1) }, one.decoded)
    expect(names(held.snapshot).map(name => entryOf(held.snapshot, name)?.enabled)).toEqual([
      false,
      true,
      false,
    ])
    const freed = served(first, held.decoded)
    expect(names(freed.snapshot).map(name => entryOf(freed.snapshot, name)?.enabled)).toEqual([
      true,
      true,
      true,
      true,
    ])
    const gone = served(
      { ...first, resources: first.resources.filter(({ name }) => name !== 'a') },
      freed.decoded,
    )
    expect(names(gone.snapshot)).toEqual(['b', 'c', 'c'])
  })

  it('looks for the secrets of keys that it knows, too', async () => {
    const first = await stateOf(yaml())
    const { decoded } = served(first)
    const rotated = `${SECRET}, another`
    const { decoded: again, compiled } = compileAgain(await next(first, yaml()), decoded, () => rotated)
    expect(again.sources).toEqual([{ env: 'B' }])
    if (!compiled.ok) throw new Error(compiled.problems.join('\n'))
    expect(compiled.snapshot.keys.get(keyDigest(rotated))?.name).toBe('b')
    expect(compiled.snapshot.keys.has(keyDigest(SECRET))).toBe(false)
  })

  it('that misses the tenant of a key says so, and is whole again with it', async () => {
    const first = await stateOf(yaml())
    const one = served(first)
    const without = { ...first, resources: first.resources.filter(({ kind }) => kind !== 'tenant') }
    const rejected = compileAgain(without, one.decoded, () => SECRET)
    expect(rejected.compiled).toEqual({ ok: false, problems: ['key a: there is no tenant t'] })
    expect(entryOf(served(first, rejected.decoded).snapshot, 'a')?.tenant?.name).toBe('t')
  })
})
