/** A large configuration as YAML, and a later state of it that touches most of it. */
import { createHash } from 'node:crypto'

export const SECRET = 'sk-a-secret-of-their-own-0123456789'

export function configuration({ keys, publications, upstreamUrl, later }) {
  const lines = ['version: 1', 'endpoints:']
  for (let at = 0; at < 8; at++) {
    lines.push(
      `  e${at}: { protocol: openai, base_url: "${upstreamUrl}/v1", served_model: demo-chat, skip_probe: true }`,
    )
  }
  lines.push('publications:')
  for (let at = 0; at < publications; at++) {
    // One in fifty goes away, one in ten gets dearer.
    if (later && at % 50 === 49) continue
    const price = later && at % 10 === 0 ? 2 : 1
    lines.push(
      `  vendor${at % 20}/model-${at}: { price: { input: ${price}, output: 4 }, bindings: [{ endpoint: e${at % 8} }, { endpoint: e${(at + 1) % 8}, priority: 1 }] }`,
    )
  }
  lines.push('tenants:')
  for (let at = 0; at < 100; at++) {
    lines.push(`  t${at}: { models: ["vendor${at % 20}/*", "vendor${(at + 7) % 20}/*", "*-1*"] }`)
  }
  const hash = createHash('sha256').update(SECRET).digest('hex')
  lines.push('keys:', `  load: { kind: platform, hash: "sha256:${hash}" }`)
  for (let at = 0; at < keys; at++) {
    // Half of them get other models, a tenth a lower limit.
    const models =
      later && at % 2 === 0 ? `"vendor${at % 20}/*"` : `"vendor${at % 20}/*", "*-1*", "*-${at % 97}"`
    const rpm = later && at % 10 === 0 ? 5 : 600
    lines.push(
      `  key-${at}: { kind: tenant, tenant: t${at % 100}, models: [${models}], limits: { rpm: ${rpm}, tpm: 100000 }, budget: { amount: 50, per: month } }`,
    )
  }
  return `${lines.join('\n')}\n`
}
