import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { accessibilityFaults, isTooWide, logIn, open, THEMES, type View, WIDTHS } from './browser.ts'
import { consoleInBrowser } from './console-in-browser.ts'
import { HISTORY_CONFIG, keepCalling, makeHistory, type Secrets } from './history.ts'
import { PASSWORD, type SceneWorld, type ServedConsole } from './scene.ts'

/** With GW_SCREENSHOTS=1 the pictures of the page about the console are made anew. */
const PICTURES = fileURLToPath(new URL('../../docs/console/', import.meta.url))
const makesPictures = process.env['GW_SCREENSHOTS'] === '1'

const PAGES = [
  '/',
  '/setup',
  '/endpoints',
  '/endpoints/demo-openai',
  '/endpoints/qwen',
  '/nodes',
  '/nodes/gpu-7',
  '/publications',
  '/publications/chat',
  '/keys',
  '/keys/team-blue-app',
  '/playground',
  '/why',
  '/why?key=team-blue-app&model=chat',
  '/calls',
  '/calls?show=rejected',
  '/usage',
  '/tenants',
  '/tenants/team-blue',
  '/sets',
  '/plan',
  '/history',
  '/users',
  '/audit',
  '/maintenance',
  '/account',
] as const

/** What the users of a tenant see in another way. */
const TENANT_PAGES = [
  '/',
  '/models',
  '/keys',
  '/keys/team-blue-app',
  '/why?key=team-blue-app&model=chat',
  '/wallet',
] as const

const VIEWS: readonly View[] = WIDTHS.flatMap(width => THEMES.map(theme => ({ width, theme })))

let secrets: Secrets | undefined
const past = {
  more: HISTORY_CONFIG,
  apply: async (world: SceneWorld) => void (secrets = await makeHistory(world)),
}
const scene = consoleInBrowser(
  'the pages of the console are',
  makesPictures ? past : {},
  async (served, whenOver) => {
    await served.joinNode('gpu-7')
    await someTraffic(served, secrets)
    await served.addUser('tom', 'team-blue')
    await served.gw('nodes', 'token', 'gpu-8')
    if (!secrets) return
    const end = new AbortController()
    const calling = keepCalling(served.gatewayUrl, secrets, end.signal)
    whenOver(() => {
      end.abort()
      return calling
    })
  },
)

/** Each page once, and the first one in the dark and on a phone. */
function isPictured(name: string, { width, theme }: View): boolean {
  return name === '/' ? width !== 1_024 : width === 1_440 && theme === 'light'
}

/** Calls of each kind: answered ones, a stream, and one that is rejected. */
async function someTraffic({ gw, gatewayUrl }: ServedConsole, secrets?: Secrets): Promise<void> {
  const secret = secrets?.get('team-blue-app') ?? (await gw('keys', 'issue', 'team-blue-app')).trim()
  const platform = (await gw('keys', 'issue', 'platform-test')).trim()
  await gw('wallet', 'credit', 'team-blue', '25', '--reference', 'invoice-1').catch(() => undefined)
  const chat = (model: string, more: object = {}, credential = secret) =>
    fetch(`${gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }], ...more }),
    }).then(answer => answer.text())
  for (let count = 0; count < 5; count++) await chat('chat')
  await chat('chat', { stream: true })
  await chat('no-such-model')
  await chat('qwen', {}, platform)
}

describe.skipIf(!scene.hasBrowser)(
  'each page, without an error, a violation, a finding or a request to another host',
  () => {
    test.each(VIEWS)('at $width in $theme', { timeout: 240_000 }, async view => {
      const tab = await scene.openTab(view)
      const found: string[] = []
      const look = async (name: string, at = tab) => {
        found.push(...(await accessibilityFaults(at)).map(fault => `${name}: ${fault}`))
        if (await isTooWide(at)) found.push(`${name} is wider than the window`)
        if (!makesPictures || !isPictured(name, view)) return
        if (name === '/') await at.page.getByRole('link', { name: 'chat-large' }).waitFor()
        mkdirSync(PICTURES, { recursive: true })
        const file = `${name.replaceAll(/[/?&=]/g, '-').replace(/^-|-$/g, '') || 'overview'}-${view.width}-${view.theme}.png`
        await at.page.screenshot({ path: PICTURES + file })
      }
      await tab.page.goto('/console/')
      await tab.page.getByRole('heading', { level: 1 }).waitFor()
      await look('log-in')
      await logIn(tab, 'admin', PASSWORD)
      for (const path of PAGES) {
        await open(tab, path)
        await look(path)
      }
      const own = await scene.openTab(view)
      await logIn(own, 'tom', PASSWORD)
      for (const path of TENANT_PAGES) {
        await open(own, path)
        await look(`/tenant${path}`, own)
      }
      expect(own.faults).toEqual([])
      expect(found).toEqual([])
      expect(tab.faults).toEqual([])
    })
  },
)
