import { afterAll, describe, expect, test } from 'vitest'
import { tempDir } from '../support/temp-dir.ts'
import { wholeGateway } from '../support/whole-gateway.ts'

const PASSWORD = 'correct horse battery'

const folder = tempDir(afterAll)
const config = folder.write(
  'gw.yaml',
  `
version: 1
endpoints: { e: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: m, skip_probe: true } }
publications: { m: { bindings: [{ endpoint: e }] } }
tenants: { acme: {} }
keys: { app: { kind: tenant, tenant: acme } }
`,
)
const gateway = await wholeGateway(afterAll, config, {
  GW_ADMIN_PASSWORD: PASSWORD,
  METRICS_TOKEN: 'metrics-token',
})

async function logIn(carrier: 'bearer' | 'cookie') {
  const answer = await fetch(`${gateway.controlUrl}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ username: 'admin', password: PASSWORD, carrier }),
  })
  const body = (await answer.json()) as { readonly token: string; readonly csrf_token: string }
  const cookie = /gw_session=([^;]+)/.exec(answer.headers.get('set-cookie') ?? '')?.[1]
  return { token: cookie ?? body.token, csrf: body.csrf_token }
}

const bearer = await logIn('bearer')
const cookie = await logIn('cookie')
const SECRETS = {
  'inference key': await gateway.issue('app'),
  'session token': bearer.token,
  'session cookie': cookie.token,
  'metrics token': 'metrics-token',
}
type Secret = keyof typeof SECRETS

/** How each surface is asked, with any secret in the place of its own. */
const SURFACES: Readonly<Record<Secret, (secret: string) => Promise<number[]>>> = {
  'inference key': async secret => [
    await status(`${gateway.gatewayUrl}/v1/models`, { authorization: `Bearer ${secret}` }),
    await status(`${gateway.gatewayUrl}/v1/models`, { 'x-api-key': secret }),
  ],
  'session token': async secret => {
    const headers = { authorization: `Bearer ${secret}` }
    return [
      await status(`${gateway.controlUrl}/api/v1/session`, headers),
      await status(
        `${gateway.controlUrl}/api/v1/config/validate`,
        headers,
        'version: 1\ntenants: { a: {} }\n',
      ),
    ]
  },
  'session cookie': async secret => {
    const headers = {
      cookie: `gw_session=${secret}`,
      'sec-fetch-site': 'same-origin',
      'x-csrf-token': cookie.csrf,
    }
    return [
      await status(`${gateway.controlUrl}/api/v1/session`, headers),
      await status(
        `${gateway.controlUrl}/api/v1/config/validate`,
        headers,
        'version: 1\ntenants: { a: {} }\n',
      ),
    ]
  },
  'metrics token': async secret => [
    await status(`${gateway.gatewayUrl}/metrics`, { authorization: `Bearer ${secret}` }),
  ],
}

async function status(url: string, headers: Record<string, string>, yaml?: string): Promise<number> {
  const change = yaml !== undefined && { method: 'POST', body: JSON.stringify({ yaml }) }
  const type = yaml === undefined ? {} : { 'content-type': 'application/json' }
  const answer = await fetch(url, { ...change, headers: { ...headers, ...type } })
  await answer.arrayBuffer()
  return answer.status
}

const names = Object.keys(SECRETS) as Secret[]

describe.each(names)('the %s', secret => {
  test.each(names)('and the surface of the %s', async surface => {
    const statuses = await SURFACES[surface](SECRETS[secret])
    expect(new Set(statuses)).toEqual(new Set([secret === surface ? 200 : 401]))
  })
})

test('no surface is served at the address of another', async () => {
  const asked = (url: string) => status(url, { authorization: `Bearer ${SECRETS['inference key']}` })
  expect(await asked(`${gateway.gatewayUrl}/api/v1/session`)).toBe(404)
  expect(await asked(`${gateway.controlUrl}/v1/models`)).toBe(404)
  expect(await asked(`${gateway.controlUrl}/metrics`)).toBe(404)
})

test('no log tells a secret, whether it was right or wrong', () => {
  const log = gateway.log.join('')
  for (const secret of [...Object.values(SECRETS), cookie.csrf, PASSWORD]) expect(log).not.toContain(secret)
})
