import { describe, expect, test } from 'vitest'
import { logIn, open } from './browser.ts'
import { consoleInBrowser } from './console-in-browser.ts'
import { PASSWORD } from './scene.ts'

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

const MANY = Array.from(
  { length: KEYS },
  (_, at) => `  many-${String(at).padStart(5, '0')}: { kind: platform }`,
)
const scene = consoleInBrowser('scrolling is', { more: `version: 1\nkeys:\n${MANY.join('\n')}\n` })

/** Notes the tasks of more than 50 ms from now on. */
const WATCH = `
  window.longTasks = []
  new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) window.longTasks.push(duration)
  }).observe({ type: 'longtask' })`

/**
 * Scrolls to the end again and again until all rows are there; a step a frame, or a quarter of a second if the browser draws none. Says
 * how many frames there were.
 */
const SCROLL = `(async () => {
  const frame = () => new Promise(done => {
    requestAnimationFrame(done)
    setTimeout(done, 250)
  })
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

describe.skipIf(!scene.hasBrowser)('a list of 10,000 keys', { timeout: 240_000 }, () => {
  test('is scrolled through to its end, with the rows near the window alone and without a long task', async () => {
    const tab = await scene.openTab()
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
