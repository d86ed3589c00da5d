import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { browserPath, launchBrowser, logIn, open, openTab } from './browser.ts'
import { PASSWORD, type ServedConsole, serveConsole } from './scene.ts'

const hasBrowser = browserPath() !== undefined
if (!hasBrowser) console.warn('No Chromium is found: scrolling is NOT checked. Set GW_BROWSER.')

const KEYS = 10_000
/** A page of the list. */
const PAGE = 100
const LOWEST_ROW_PX = 30
/** The rows of the chunks near a window of 900 px, of all of them. */
const MOST_ROWS = 500
/**
 * A task of more than 50 ms is one that a reader may notice. On a machine that does other things as well each takes
 * longer, so the bound is twenty times as much; making all rows anew at each page takes more than that.
 */
const LONGEST_MS = 1_000

let browser: Browser
let served: ServedConsole
const ends: (() => unknown)[] = []

beforeAll(async () => {
  if (!hasBrowser) return
  browser = await launchBrowser()
  ends.unshift(() => browser.close())
  const keys = Array.from(
    { length: KEYS },
    (_, at) => `  many-${String(at).padStart(5, '0')}: { kind: platform }`,
  )
  served = await serveConsole(end => void ends.unshift(end), {
    more: `version: 1\nkeys:\n${keys.join('\n')}\n`,
  })
}, 120_000)
afterAll(async () => {
  for (const end of ends) await end()
})

/** Notes the tasks of more than 50 ms from now on. */
const WATCH = `
  window.longTasks = []
  new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) window.longTasks.push(duration)
  }).observe({ type: 'longtask' })`

/** Scrolls to the end again and again until all rows are there; a step a frame. Says how many frames there were. */
const SCROLL = `(async () => {
  const frame = () => new Promise(done => requestAnimationFrame(done))
  const began = performance.now()
  let frames = 0
  let rows = 0
  while (document.querySelector('.more') && performance.now() - began < 180000) {
    scrollBy(0, 400)
    await frame()
    frames++
    rows = Math.max(rows, document.querySelectorAll('tbody tr[data-row]').length)
  }
  return { frames, rows, height: document.documentElement.scrollHeight, ms: performance.now() - began }
})()`

interface Scrolled {
  readonly frames: number
  /** The most that were rendered at a time. */
  readonly rows: number
  readonly height: number
  readonly ms: number
}

describe.skipIf(!hasBrowser)('a list of 10,000 keys', { timeout: 240_000 }, () => {
  test('is scrolled through to its end, with the rows near the window alone and without a long task', async () => {
    const tab = await openTab(browser, served.controlUrl)
    onTestFinished(() => tab.context.close())
    await logIn(tab, 'admin', PASSWORD)
    await open(tab, '/keys')
    await tab.page.evaluate(WATCH)
    const { frames, rows, height, ms } = await tab.page.evaluate<Scrolled>(SCROLL)
    const tasks = (await tab.page.evaluate<readonly number[]>('window.longTasks')).toSorted((a, b) => b - a)
    const [longest = 0] = tasks
    console.log(
      `${KEYS} keys in ${Math.round(ms)} ms and ${frames} frames, at most ${rows} rows; ${tasks.length} tasks above 50 ms, the longest ${Math.round(longest)} ms`,
    )
    // All keys of the list have their place.
    expect(height).toBeGreaterThan(KEYS * LOWEST_ROW_PX)
    expect(rows).toBeLessThan(MOST_ROWS)
    expect(frames).toBeGreaterThan(KEYS / PAGE)
    expect(longest).toBeLessThan(LONGEST_MS)
    expect(tab.faults).toEqual([])
  })
})
