import type { Tree } from '../config/types.ts'
import { decode, type Resource } from '../schema/kinds.ts'
import type { Live } from '../store/types.ts'
import { activeSecrets } from './key-secrets.ts'
import type { PlanWarning } from './types.ts'

/** What is allowed and yet seldom meant, of all that would stand `after` an apply of `desired`. */
export function planWarnings(live: Live, after: readonly Resource[], desired: Tree): PlanWarning[] {
  const active = activeSecrets(live)
  const usableBefore = publicationsInUse(live.resources)
  const usableAfter = publicationsInUse(after)
  const declared = new Set(
    desired.resources.filter(({ kind }) => kind === 'publication').map(({ name }) => name),
  )
  const warnings: PlanWarning[] = []
  for (const { kind, name, spec } of after) {
    if (kind !== 'publication' || spec['status'] !== 'listed') continue
    // Free is a decision; free by omission is worth a word (MONEY: "counted as unpriced").
    if (declared.has(name) && Object.keys(spec['price'] ?? {}).length === 0) {
      warnings.push({ code: 'unpriced', kind, name, message: 'no price: it is free and counted as unpriced' })
    }
    // Of other owners only what this apply takes away.
    if (!usableAfter.has(name) && (declared.has(name) || usableBefore.has(name))) {
      warnings.push({
        code: 'no_endpoint',
        kind,
        name,
        message: 'no enabled endpoint serves it: calls answer 503',
      })
    }
  }
  for (const { kind, name, spec } of desired.resources) {
    if (kind !== 'key' || spec['enabled'] === false || 'hash' in spec || 'secret' in spec) continue
    if (active.has(name)) continue
    warnings.push({
      code: 'no_secret',
      kind,
      name,
      message: `no secret yet: \`gw keys issue ${name}\` mints one`,
    })
  }
  return warnings
}

/** Publications that a binding with weight and an enabled endpoint serves. */
function publicationsInUse(resources: readonly Resource[]): Set<string> {
  const enabled = new Set(
    resources
      .filter(({ kind, spec }) => kind === 'endpoint' && spec['enabled'] !== false)
      .map(({ name }) => name),
  )
  return new Set(
    resources
      .filter(({ kind }) => kind === 'binding')
      .map(({ spec }) => decode('binding', spec))
      .filter(({ endpoint, weight }) => weight > 0 && enabled.has(endpoint))
      .map(({ publication }) => publication),
  )
}
