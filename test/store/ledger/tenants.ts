import type { OwnedResource } from '../../../src/store/types.ts'
import { canonical, MINE } from '../samples.ts'

export function tenant(name: string): OwnedResource {
  return { kind: 'tenant', name, spec: canonical('tenant', {}), ...MINE }
}
