import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** The Chromium of this machine, or that of GW_BROWSER; undefined if there is none. */
export function browserPath(): string | undefined {
  return [process.env['GW_BROWSER'] ?? '', ...PLACES].find(path => path !== '' && existsSync(path))
}

export function launchBrowser(): Promise<Browser> {
  // Without its sandbox, which needs rights that a container does not have; it opens only pages of this machine.
  return chromium.launch({ executablePath: browserPath() ?? '', args: ['--no-sandbox'] })
}

export const WIDTHS = [1_440, 1_024, 390] as const
export const THEMES = ['light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

export interface View {
  readonly width: number
  readonly theme: Theme
}

/** A page of the console, and everything that went wrong in it so far. */
export interface Tab {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors of the browser's console, violations of the policy, requests to other hosts, failed requests. */
  readonly faults: string[]
}

/** How long an element may take to appear on a machine with much else to do. */
const READY_MS = 60_000

export async function openTab(
  browser: Browser,
  origin: string,
  { width, theme }: View = { width: 1_440, theme: 'light' },
): Promise<Tab> {
  const context = await browser.newContext({
    baseURL: origin,
    viewport: { width, height: 900 },
    colorScheme: theme,
    locale: 'en-GB',
    timezoneId: 'UTC',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  context.setDefaultTimeout(READY_MS)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('console', message => {
    // Another test of this machine makes network interfaces: the browser drops what is under way, and the console asks again.
    if (message.text().includes('ERR_NETWORK_CHANGED')) return
    if (['error', 'warning'].includes(message.type())) faults.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', error => faults.push(`exception: ${error.message}`))
  page.on('request', request => {
    if (!request.url().startsWith(origin)) faults.push(`request to another host: ${request.url()}`)
  })
  await page.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', event =>
      console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample))`,
  })
  return { page, context, faults }
}

export async function logIn({ page }: Tab, user: string, password: string): Promise<void> {
  await page.goto('/console/')
  await page.getByLabel('User').fill(user)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.locator('main#content').waitFor()
}

/** How long a page may take on a machine with much else to do. */
export const PATIENCE = { timeout: 20_000 }

/** Opens a page of the console, and waits until it has what it shows. */
export async function open({ page }: Tab, path: string): Promise<void> {
  await page.goto(`/console${path}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await expect.poll(() => page.locator('.loading').count(), PATIENCE).toBe(0)
}

/** What axe finds, in a world of its own: the policy of the page lets no foreign script run in it. */
export async function accessibilityFaults({ page, context }: Tab): Promise<string[]> {
  const devtools = await context.newCDPSession(page)
  try {
    const { frameTree } = await devtools.send('Page.getFrameTree')
    const { executionContextId: contextId } = await devtools.send('Page.createIsolatedWorld', {
      frameId: frameTree.frame.id,
      worldName: 'axe',
    })
    await devtools.send('Runtime.evaluate', { contextId, expression: AXE })
    const { result, exceptionDetails } = await devtools.send('Runtime.evaluate', {
      contextId,
      awaitPromise: true,
      returnByValue: true,
      expression: `axe.run().then(({ violations }) => violations.map(({ id, nodes }) =>
        id + ': ' + nodes.map(({ html, failureSummary }) => html.slice(0, 200) + ' ' + failureSummary).join(' | ')))`,
    })
    if (exceptionDetails) throw new Error(exceptionDetails.text)
    return result.value as string[]
  } finally {
    await devtools.detach()
  }
}

/** Whether the page is wider than the window. */
export function isTooWide({ page }: Tab): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > innerWidth')
}
