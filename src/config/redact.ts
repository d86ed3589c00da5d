import { holdsSecret, isReferencePart, isSecretSlot } from './mask.ts'
import type { Node } from './node.ts'

/** Redacts the value of a secret field, at its anchor if it is an alias. */
export function redactSecrets(name: string, value: Node): void {
  if (value.kind === 'list') for (const item of value.items) redactScalar(name, item)
  else if (value.kind !== 'map') redactScalar(name, value)
  else if (isSecretSlot(name)) {
    for (const [part, { value: inner }] of value.entries) {
      if (inner.kind === 'scalar' && isReferencePart(part, inner.written)) continue
      redact(inner)
    }
  }
}

function redactScalar(name: string, node: Node): void {
  if (node.kind === 'map' || node.kind === 'list') return
  if (node.kind === 'scalar' && (node.value === null || typeof node.value === 'boolean')) return
  if (holdsSecret(name, node.kind === 'scalar' ? node.written : '')) redact(node)
}

function redact(node: Node): void {
  node.span.source.redact(node.span.start, node.span.end)
}
