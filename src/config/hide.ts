import { holdsSecret, isReferencePart, isSecretSlot } from './mask.ts'
import type { Node } from './node.ts'

/** Hides what stands at a secret's place, wherever an alias says that it is written. */
export function hideSecrets(name: string, value: Node): void {
  if (value.kind === 'list') for (const item of value.items) hideScalar(name, item)
  else if (value.kind !== 'map') hideScalar(name, value)
  else if (isSecretSlot(name)) {
    for (const [part, { value: inner }] of value.entries) {
      if (inner.kind === 'scalar' && isReferencePart(part, inner.written)) continue
      hide(inner)
    }
  }
}

function hideScalar(name: string, node: Node): void {
  if (node.kind === 'map' || node.kind === 'list') return
  if (node.kind === 'scalar' && (node.value === null || typeof node.value === 'boolean')) return
  if (holdsSecret(name, node.kind === 'scalar' ? node.written : '')) hide(node)
}

function hide(node: Node): void {
  node.span.source.hide(node.span.start, node.span.end)
}
