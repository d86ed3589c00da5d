import { isMap, isScalar, type ParsedNode } from 'yaml'
import type { Finding } from './report.ts'
import type { Source } from './source.ts'

/** Root keys of a LiteLLM proxy `config.yaml`; the first is always present in practice. */
const LITELLM_KEYS = ['model_list', 'litellm_settings', 'router_settings', 'general_settings']
const GW_SECTIONS = ['endpoints', 'publications', 'tenants', 'keys', 'bindings']

/** A single finding for a file of another program, instead of one per field. */
export function detectForeign(contents: ParsedNode | null, source: Source): Finding | undefined {
  if (!isMap(contents)) return undefined
  const keys = new Map<string, ParsedNode>()
  for (const { key } of contents.items) {
    if (isScalar(key) && typeof key.value === 'string') keys.set(key.value, key as ParsedNode)
  }
  if (GW_SECTIONS.some(section => keys.has(section))) return undefined
  const apiVersion = keys.get('apiVersion')
  if (apiVersion && keys.has('kind')) {
    const text = 'this is a Kubernetes manifest'
    return { code: 'kubernetes_manifest', span: spanOf(apiVersion, source), text }
  }
  const litellm = LITELLM_KEYS.flatMap(name => keys.get(name) ?? [])[0]
  if (litellm)
    return {
      code: 'litellm_configuration',
      span: spanOf(litellm, source),
      text: 'this is a LiteLLM configuration',
    }
  return undefined
}

function spanOf(key: ParsedNode, source: Source) {
  return { source, start: key.range[0], end: key.range[1] }
}
