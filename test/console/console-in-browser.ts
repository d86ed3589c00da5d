import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { browserPath, launchBrowser, logIn, openTab, type Tab, type View } from './browser.ts'
import { type ConsoleOptions, PASSWORD, type ServedConsole, serveConsole } from './scene.ts'

interface Prepared {
  readonly browser: Browser
  readonly served: ServedConsole
}

/** A console and a browser for all tests of a file. */
export interface ConsoleInBrowser {
  /** Without one nothing is checked, with a warning. */
  readonly hasBrowser: boolean
  /** In tests and hooks. */
  readonly served: ServedConsole
  /** A tab, which is closed at the end of the test. */
  readonly openTab: (view?: View) => Promise<Tab>
  /** A tab in which the user has logged in. */
  readonly logInAs: (user: string) => Promise<Tab>
}

const START_MS = 240_000

/**
 * Starts both before the tests of the file that calls it, and ends them afterwards.
 *
 * @param subject for the warning: `the keyboard is`.
 * @param prepare runs before the first test; what it gives to `whenOver` ends with the file.
 */
export function consoleInBrowser(
  subject: string,
  options: ConsoleOptions = {},
  prepare: (served: ServedConsole, whenOver: (end: () => unknown) => void) => unknown = () => undefined,
): ConsoleInBrowser {
  const hasBrowser = browserPath() !== undefined
  if (!hasBrowser) console.warn(`No Chromium is found: ${subject} NOT checked. Set GW_BROWSER.`)
  let prepared: Prepared | undefined
  const ends: (() => unknown)[] = []
  const whenOver = (end: () => unknown) => void ends.unshift(end)
  const parts = (): Prepared => {
    if (!prepared) throw new Error('the console is served in tests and hooks')
    return prepared
  }
  beforeAll(async () => {
    if (!hasBrowser) return
    const served = await serveConsole(whenOver, options)
    const browser = await launchBrowser()
    whenOver(() => browser.close())
    prepared = { browser, served }
    await prepare(served, whenOver)
  }, START_MS)
  afterAll(async () => {
    for (const end of ends) await end()
  })
  const open = async (view?: View): Promise<Tab> => {
    const { browser, served } = parts()
    const tab = await openTab(browser, served.controlUrl, view)
    onTestFinished(() => tab.context.close())
    return tab
  }
  return {
    hasBrowser,
    get served() {
      return parts().served
    },
    openTab: open,
    async logInAs(user) {
      const tab = await open()
      await logIn(tab, user, PASSWORD)
      return tab
    },
  }
}
