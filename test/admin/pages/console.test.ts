import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { serve } from '../../../src/server/serve.ts'
import type { ServeOptions } from '../../../src/server/serving.ts'
import { openStore } from '../../../src/store/open.ts'
import { endpoint, put } from '../../store/samples.ts'
import { storeOfFolder } from '../../support/store-of-folder.ts'
import { tempDir } from '../../support/temp-dir.ts'
import type { WhenOver } from '../../support/when-over.ts'
import { CONTROL_THREADS } from '../../support/whole-gateway.ts'

const HTML = { headers: { accept: 'text/html' }, redirect: 'manual' } as const

/** A control plane by itself, from the build. */
async function controlPlane(whenOver: WhenOver, options: Partial<ServeOptions> = {}): Promise<string> {
  const dir = tempDir(whenOver)
  const url = await storeOfFolder(dir.path)
  const store = await openStore(url, { mode: 'create', clock: systemClock })
  await put(store, endpoint('a'))
  await store.close()
  const serving = await serve(
    { store: url, control: { host: '127.0.0.1', port: 0 }, ...options },
    {
      environment: {},
      cwd: dir.path,
      clock: systemClock,
      random: systemRandom,
      log: createLog({ write: () => undefined }, { level: 'silent', pretty: false, colour: false }),
      threadsUrl: CONTROL_THREADS,
    },
  )
  whenOver(() => serving.close(0))
  return serving.controlUrl ?? ''
}

const url = await controlPlane(afterAll)
const html = await (await fetch(`${url}/console/`)).text()
const assets = [...html.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '')

describe('the console', () => {
  test('is where / leads a browser, while a program gets the description', async () => {
    for (const path of ['/', '/console']) {
      const answer = await fetch(url + path, HTML)
      expect([answer.status, answer.headers.get('location')], path).toEqual([302, '/console/'])
    }
    expect(await (await fetch(url)).json()).toMatchObject({ links: { console: '/console/' } })
  })

  test('allows nothing inline, no other host, and no text that becomes a script', async () => {
    const policy = (await fetch(`${url}/console/`)).headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(policy).not.toMatch(/unsafe|http|data:|blob:|\*/)
    expect(html).not.toMatch(/<style|<script>|<script [^>]*>[^<]|style="|https?:/)
  })

  test('answers its routes with its page, and an asset that it lacks with 404', async () => {
    for (const path of ['/console/keys/app', '/console/endpoints/a%2Fb'])
      expect(await (await fetch(url + path)).text()).toBe(html)
    expect((await fetch(`${url}/console/assets/none.js`)).status).toBe(404)
    expect((await fetch(`${url}/console/keys`, { method: 'POST' })).status).toBe(405)
  })

  test('has assets that a browser keeps for ever, and a page that it asks for again', async () => {
    expect(assets.length).toBeGreaterThan(1)
    for (const path of assets) {
      const { headers } = await fetch(url + path)
      expect(headers.get('cache-control')).toContain('immutable')
      expect(headers.get('content-encoding')).toBe('gzip')
      expect(headers.get('vary')).toBe('accept-encoding')
      expect(headers.get('etag')).toMatch(/^W\//)
    }
    const { headers } = await fetch(`${url}/console/`)
    expect(headers.get('cache-control')).toBe('no-cache')
    const again = await fetch(`${url}/console/`, { headers: { 'if-none-match': headers.get('etag') ?? '' } })
    expect(again.status).toBe(304)
  })

  test('is sent as it is to clients that do not take gzip', async () => {
    for (const coding of ['identity', 'br', 'gzip;q=0', 'gzip; q=0.0']) {
      const { headers } = await fetch(`${url}/console/`, { headers: { 'accept-encoding': coding } })
      expect(headers.get('content-encoding'), coding).toBeNull()
    }
    const { headers } = await fetch(`${url}/console/`, { headers: { 'accept-encoding': 'br, gzip;q=0.5' } })
    expect(headers.get('content-encoding')).toBe('gzip')
  })

  test('is off with --no-console, and / is the description again', async () => {
    const without = await controlPlane(onTestFinished, { noConsole: true })
    const answer = await fetch(`${without}/`, HTML)
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('gw control plane')])
    for (const path of ['/console', '/console/', ...assets.slice(0, 1)])
      expect((await fetch(without + path, HTML)).status, path).toBe(404)
  })
})
