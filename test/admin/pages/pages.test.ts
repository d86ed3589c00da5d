import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { readPages } from '../../../src/admin/pages/pages.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openApi } from '../../../src/schema/api/openapi.ts'
import { serve } from '../../../src/server/serve.ts'
import { openStore } from '../../../src/store/open.ts'
import { endpoint, put } from '../../store/samples.ts'
import { storeOfFolder } from '../../support/store-of-folder.ts'
import { tempDir } from '../../support/temp-dir.ts'
import type { WhenOver } from '../../support/when-over.ts'
import { CONTROL_THREADS } from '../../support/whole-gateway.ts'

/** A control plane by itself, with this in its environment. */
async function controlPlane(
  whenOver: WhenOver,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const dir = tempDir(whenOver)
  const url = await storeOfFolder(dir.path)
  const store = await openStore(url, { mode: 'create', clock: systemClock })
  await put(store, endpoint('a'))
  await store.close()
  const serving = await serve(
    { store: url, control: { host: '127.0.0.1', port: 0 }, version: '1.2.3' },
    {
      environment,
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

const url = await controlPlane(afterAll, { SERVICE_DOCS_ENABLED: 'true' })
const PATHS = ['/openapi.json', '/docs', '/redoc']

describe('the pages', () => {
  test.each([undefined, '', 'false', '1', 'TRUE'])(
    'are not there with SERVICE_DOCS_ENABLED=%s',
    async value => {
      const without = await controlPlane(
        onTestFinished,
        value === undefined ? {} : { SERVICE_DOCS_ENABLED: value },
      )
      for (const path of [...PATHS, '/docs/start.js', '/redoc/redoc.standalone.js']) {
        const answer = await fetch(without + path)
        expect(answer.status, path).toBe(404)
        expect(await answer.json()).toMatchObject({ code: 'unknown_path' })
      }
    },
  )

  test('are there without a log-in, each with its type and what it may load', async () => {
    for (const [path, { contentType, bytes }] of await readPages('1.2.3')) {
      const answer = await fetch(url + path)
      expect(answer.status, path).toBe(200)
      expect(answer.headers.get('content-type')).toBe(contentType)
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      const policy = answer.headers.get('content-security-policy')
      expect(policy).toMatch(/^default-src 'none'; script-src 'self';/)
      expect(policy).not.toContain('http')
      expect(Buffer.from(await answer.arrayBuffer()).equals(bytes), path).toBe(true)
    }
  })

  test('show the document of the table, of this version', async () => {
    const document: unknown = await (await fetch(`${url}/openapi.json`)).json()
    expect(document).toEqual(JSON.parse(JSON.stringify(openApi('1.2.3'))))
  })

  test('load nothing that is not one of them', async () => {
    const pages = await readPages('1.2.3')
    for (const path of ['/docs', '/redoc']) {
      const html = pages.get(path)?.bytes.toString() ?? ''
      const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, target]) => target ?? '')
      expect(loaded.length).toBeGreaterThan(1)
      for (const target of loaded) expect([...pages.keys()]).toContain(target)
      expect(html).not.toMatch(/<script>|<script [^>]*>[^<]/)
    }
    expect(pages.get('/redoc/redoc.standalone.js')?.bytes.includes('//cdn.')).toBe(false)
  })

  test('are not sent again to a browser that has them', async () => {
    const etag = (await fetch(`${url}/redoc/redoc.standalone.js`)).headers.get('etag') ?? ''
    const again = (known: string) =>
      fetch(`${url}/redoc/redoc.standalone.js`, { headers: { 'if-none-match': known } })
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await again(known)
      expect([known, answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([known, 304, 0])
    }
    expect((await again('"other"')).status).toBe(200)
  })

  test('are read and not written', async () => {
    const head = await fetch(`${url}/docs`, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    const post = await fetch(`${url}/docs`, { method: 'POST' })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  test('have one path each', async () => {
    for (const path of ['/docs/', '/docs/index.html', '/redoc/', '/docs/swagger-ui.css.map', '/%64ocs'])
      expect((await fetch(url + path)).status, path).toBe(404)
  })
})
