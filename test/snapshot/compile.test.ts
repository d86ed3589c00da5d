import { describe, expect, it } from 'vitest'
import { keyDigest, mintKey } from '../../src/base/api-key.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { ServedState } from '../../src/schema/state.ts'
import { compile, compiling, describe as named, withSwitchOf } from '../../src/snapshot/compile.ts'
import { decoding } from '../../src/snapshot/decoding.ts'
import { SnapshotHolder } from '../../src/snapshot/holder.ts'
import { targetsAt } from '../../src/snapshot/served-paths.ts'
import { pathOf } from '../support/paths.ts'
import { finished } from './again.ts'
import { snapshotOf, stateOf } from './configured.ts'

const CONFIG = `
version: 1
endpoints:
  e: { protocol: openai, base_url: "https://api.example.com/v1/", served_model: served, upstream_key: { env: UP } }
publications:
  m: { bindings: [{ endpoint: e, served_model: other }] }
keys:
  k: { kind: platform }
  s: { kind: platform, secret: { file: /run/secret } }
`
const secrets: Record<string, string> = {
  'env:UP': 'sk-1',
  'file:/run/secret': 'a secret of twenty characters',
}
const lookup =
  (given: Record<string, string> = secrets) =>
  (reference: Parameters<typeof named>[0]) =>
    given[named(reference)] ?? new Error(`${named(reference)} is not set`)

async function problems(yaml: string, given = secrets): Promise<readonly string[]> {
  const compiled = compile(await stateOf(yaml), lookup(given))
  return compiled.ok ? [] : compiled.problems
}

function sourcesOf(state: ServedState): string[] {
  return finished(decoding(state)).sources.map(named)
}

describe('a state', () => {
  it('is served without what a newer gw has put beside it', async () => {
    const state = await stateOf(CONFIG)
    const unknown = { kind: 'future', name: 'f', spec: {}, createdAtMs: 0 } as unknown
    const resources = [...state.resources, unknown as ServedState['resources'][number]]
    expect(compile({ ...state, resources }, lookup()).ok).toBe(true)
  })

  it('becomes what a request needs', async () => {
    const compiled = compile(await stateOf(CONFIG), lookup())
    if (!compiled.ok) throw new Error(compiled.problems.join('\n'))
    const [target] = compiled.snapshot.publications.get('m')?.targets.openai ?? []
    expect(target).toMatchObject({
      servedModel: 'other',
      endpoint: {
        origin: 'https://api.example.com',
        basePath: '/v1',
        headers: ['authorization', 'Bearer sk-1'],
      },
    })
    expect(target?.servedJson.toString()).toBe('"other"')
    expect(compiled.snapshot.keys.get(keyDigest('a secret of twenty characters'))?.name).toBe('s')
    expect(Object.isFrozen(compiled.snapshot)).toBe(true)
  })

  it('has lists for the paths that not every endpoint serves, and shares the others', async () => {
    const endpoint = (more: string) =>
      `{ protocol: openai, base_url: "https://x/v1", served_model: m${more} }`
    const { publications } = await snapshotOf(`
version: 1
endpoints:
  all: ${endpoint('')}
  few: ${endpoint(', paths: [/v1/chat/completions]')}
publications:
  free: { bindings: [{ endpoint: all }] }
  both: { bindings: [{ endpoint: few }, { endpoint: all }] }
`)
    const [free, both] = [publications.get('free'), publications.get('both')]
    if (!free || !both) throw new Error('no publications')
    expect(free.restricted).toBeUndefined()
    expect([...(both.restricted?.keys() ?? [])]).not.toContain('/v1/chat/completions')
    expect(targetsAt(both, pathOf('/v1/chat/completions'))).toBe(both.targets.openai)
    expect(targetsAt(both, pathOf('/v1/messages'))).toBe(both.targets.anthropic)
    expect(targetsAt(both, pathOf('/v1/embeddings')).map(({ endpoint }) => endpoint.name)).toEqual(['all'])
  })

  it('names its secrets, so that they can be looked up before', async () => {
    expect(sourcesOf(await stateOf(CONFIG))).toEqual(['env:UP', 'file:/run/secret'])
  })

  it('tells every reason at once why it cannot be served, and no secret', async () => {
    const found = await problems(
      `${CONFIG}  short: { kind: platform, secret: { env: SHORT } }\n  typo: { kind: platform, secret: { env: TYPO } }\n`,
      { 'env:UP': 'sk\r\nx-evil: 1', 'env:SHORT': 'hunter2', 'env:TYPO': `gw_${'x'.repeat(46)}` },
    )
    expect(found).toEqual([
      'endpoint e: upstream_key does not fit into a header line',
      'key s: secret: file:/run/secret is not set',
      'key short: secret is shorter than 20 characters',
      'key typo: secret looks like a gw key, but its checksum is wrong',
    ])
  })

  it('with one secret for two keys cannot be served', async () => {
    const state = await stateOf(CONFIG, {
      secrets: [{ key: 'k', digest: keyDigest(secrets['file:/run/secret'] ?? '') }],
    })
    expect(compile(state, lookup())).toEqual({ ok: false, problems: ['keys k and s have the same secret'] })
  })

  it('with resources that this version cannot read says which; looking for secrets does not stumble over them', async () => {
    const state = await stateOf(CONFIG)
    const odd = ['endpoint', 'key', 'publication'].map(kind => ({
      kind: kind as 'endpoint',
      name: 'odd',
      spec: { from: 'the future' },
      createdAtMs: 0,
    }))
    const mixed = { ...state, resources: [...state.resources, ...(odd as never[])] }
    expect(sourcesOf(mixed)).toEqual(['env:UP', 'file:/run/secret'])
    const compiled = compile(mixed, lookup())
    expect(compiled.ok ? [] : compiled.problems.map(problem => problem.split(' cannot', 1)[0])).toEqual([
      'endpoint odd',
      'publication odd',
      'key odd',
    ])
  })
})

describe('a key', () => {
  const yaml =
    'version: 1\nkeys: { k: { kind: platform }, e: { kind: platform, expires_at: 2026-01-01T00:00:00Z } }\n'
  const minted = (key: string, expiresAtMs?: number) => {
    const secret = mintKey(systemRandom)
    return { key, digest: keyDigest(secret), ...(expiresAtMs !== undefined && { expiresAtMs }) }
  }

  it('that is held is not enabled, whatever the configuration says', async () => {
    const secret = minted('k')
    const entry = async (suspendedKeys: string[]) =>
      (await snapshotOf(yaml, { secrets: [secret], suspendedKeys })).keys.get(secret.digest)
    expect((await entry([]))?.enabled).toBe(true)
    expect((await entry(['k']))?.enabled).toBe(false)
    expect((await entry(['other']))?.enabled).toBe(true)
  })

  it('opens by each of its secrets, until the secret or the key ends, whichever is first', async () => {
    const all = [
      minted('k'),
      minted('k', 5),
      minted('e'),
      minted('e', 5),
      minted('e', Date.parse('2027-01-01T00:00:00Z')),
    ]
    const { keys } = await snapshotOf(yaml, { secrets: all })
    const ends = all.map(({ digest }) => keys.get(digest)?.expiresAtMs)
    const end = Date.parse('2026-01-01T00:00:00Z')
    expect(ends).toEqual([Number.POSITIVE_INFINITY, 5, end, 5, end])
  })

  it('whose secret is left over from a key that is gone opens nothing', async () => {
    const secret = minted('gone')
    expect((await snapshotOf(yaml, { secrets: [secret] })).keys.has(secret.digest)).toBe(false)
  })
})

describe('compiling in steps', () => {
  it('rests at least once for each resource', async () => {
    const state = await stateOf(CONFIG)
    const work = compiling(state, lookup())
    let steps = 0
    while (!work.next().done) steps++
    expect(steps).toBeGreaterThanOrEqual(state.resources.length)
  })
})

describe('maintenance', () => {
  const declared = (enabled: boolean) =>
    `version: 1\nsettings: { maintenance: { enabled: ${enabled}, message: "As declared." } }\n`

  it.each([
    [false, undefined, undefined],
    [true, undefined, 'As declared.'],
    [false, {}, 'As declared.'],
    [true, {}, 'As declared.'],
    [false, { message: 'By hand.' }, 'By hand.'],
    [true, { message: 'By hand.' }, 'By hand.'],
  ])('that is declared %s and switched on with %o tells %s', async (enabled, byHand, shown) => {
    const maintenance = byHand && { maintenance: { sinceMs: 1, ...byHand } }
    expect((await snapshotOf(declared(enabled), maintenance)).maintenance).toBe(shown)
    const before = await snapshotOf(declared(enabled))
    const after = withSwitchOf(await stateOf(declared(enabled), maintenance), before)
    expect(after).toEqual({ ...before, maintenance: shown })
  })
})

describe('the holder', () => {
  it('keeps what works beside what is rejected', async () => {
    const holder = new SnapshotHolder()
    expect(holder.current()).toBe(undefined)
    const snapshot = await snapshotOf('version: 1\nkeys: { k: { kind: platform } }\n', { revision: 4 })
    holder.swap(snapshot, 1)
    holder.reject(5, ['no'], 2)
    expect(holder.current()).toBe(snapshot)
    expect(holder.report()).toEqual({
      revision: 4,
      ok: false,
      atMs: 2,
      rejected: { revision: 5, problems: ['no'] },
    })
    holder.swap(snapshot, 3)
    expect(holder.report()).toEqual({ revision: 4, ok: true, atMs: 3 })
  })
})
