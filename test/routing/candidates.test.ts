import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pick } from '../../src/routing/candidates.ts'
import { snapshotOf } from '../snapshot/configured.ts'

/** The publication `m` over endpoints of one protocol, with these weights and tiers. */
async function publicationOf(bindings: readonly { weight: number; priority: number; enabled?: boolean }[]) {
  const snapshot = await snapshotOf(`
version: 1
endpoints:
${bindings.map(({ enabled = true }, index) => `  e${index}: { protocol: openai, base_url: "http://x", served_model: m, enabled: ${enabled} }`).join('\n')}
publications:
  m:
    bindings: [${bindings.map(({ weight, priority }, index) => `{ endpoint: e${index}, weight: ${weight}, priority: ${priority} }`).join(', ')}]
`)
  const publication = snapshot.publications.get('m')
  if (!publication) throw new Error('no publication')
  return publication
}

const chance = (fraction: number) => ({ fraction: () => fraction, bytes: () => new Uint8Array() })

describe('the choice of an endpoint', () => {
  it('falls on the lowest tier that has a usable endpoint', async () => {
    const publication = await publicationOf([
      { weight: 1, priority: 2 },
      { weight: 0, priority: 0 },
      { weight: 1, priority: 0, enabled: false },
      { weight: 1, priority: 1 },
    ])
    for (const fraction of [0, 0.5, 0.999])
      expect(pick(publication, 'openai', chance(fraction)).endpoint.name).toBe('e3')
  })

  it('shares a tier by weight', async () => {
    const publication = await publicationOf([
      { weight: 1, priority: 0 },
      { weight: 3, priority: 0 },
      { weight: 0, priority: 0 },
      { weight: 9, priority: 1 },
    ])
    const counts = new Map<string, number>()
    for (let step = 0; step < 400; step++) {
      const { name } = pick(publication, 'openai', chance(step / 400)).endpoint
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    expect(Object.fromEntries(counts)).toEqual({ e0: 100, e1: 300 })
  })

  it('always falls on an enabled endpoint with a weight, or says that there is none', async () => {
    const bindings = fc.array(fc.record({ weight: fc.nat(3), priority: fc.nat(2), enabled: fc.boolean() }), {
      minLength: 1,
      maxLength: 5,
    })
    await fc.assert(
      fc.asyncProperty(
        bindings,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        async (all, fraction) => {
          const publication = await publicationOf(all)
          const usable = all.filter(({ weight, enabled }) => weight > 0 && enabled)
          if (usable.length === 0) {
            expect(() => pick(publication, 'openai', chance(fraction))).toThrow(
              expect.objectContaining({ code: 'no_healthy_endpoint' }),
            )
            return
          }
          const { priority, weight, endpoint } = pick(publication, 'openai', chance(fraction))
          expect(priority).toBe(Math.min(...usable.map(binding => binding.priority)))
          expect([weight > 0, endpoint.enabled]).toEqual([true, true])
        },
      ),
      { numRuns: 60 },
    )
  })
})
