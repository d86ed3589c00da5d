import type { TempDir } from '../support/temp-dir.ts'

/** Ten different mistakes in three files, each with the place where it is written. */
export const MISTAKES = [
  'config/endpoints.yaml:4:15 GW1204',
  'config/endpoints.yaml:5:5 GW1202',
  'config/endpoints.yaml:7:3 GW1203',
  'config/endpoints.yaml:9:15 GW1205',
  'config/endpoints.yaml:10:19 GW1404',
  'config/keys.yaml:7:13 GW1206',
  'config/keys.yaml:10:20 GW1201',
  'config/keys.yaml:12:5 GW1107',
  'config/models.yaml:4:28 GW1302',
  'config/models.yaml:5:15 GW1401',
] as const

/** The canary stands where a secret must not: it may be printed nowhere. */
export const CANARY = 'sk-canary-0123456789abcdef'

export function writeTenMistakes(dir: TempDir): void {
  dir.write(
    'config/endpoints.yaml',
    `version: 1
endpoints:
  misspelt:
    protocol: opnai
    base_ulr: https://one.example/v1
    served_model: one
  bare:
    protocol: openai
    base_url: ftp://two.example/v1
    upstream_key: ${CANARY}
`,
  )
  dir.write(
    'config/keys.yaml',
    `version: 1
tenants:
  blue: {}
keys:
  both:
    kind: platform
    tenant: blue
  counted:
    kind: platform
    limits: { rpm: many }
    enabled: true
    enabled: false
`,
  )
  dir.write(
    'config/models.yaml',
    `version: 1
publications:
  chat:
    bindings: [{ endpoint: missing }]
    owned_by: \${GW_UNSET}
`,
  )
}
