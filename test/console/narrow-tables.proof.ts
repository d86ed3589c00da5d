import { describe, expect, test } from 'vitest'
import { logIn, open, type Tab } from './browser.ts'
import { consoleInBrowser } from './console-in-browser.ts'
import { PASSWORD } from './scene.ts'

const scene = consoleInBrowser('tables in narrow windows are')

/** Whether a table is wider than its frame: what is beyond it is seen only by scrolling sideways. */
function isCut({ page }: Tab): Promise<boolean> {
  return page.evaluate(
    `[...document.querySelectorAll('.scroll')].some(each => each.scrollWidth > each.clientWidth)`,
  )
}

let secret: string | undefined

/** The status of a call of the tenant's key. */
async function call(model: string): Promise<number> {
  const { gw, gatewayUrl } = scene.served
  secret ??= (await gw('keys', 'issue', 'team-blue-app')).trim()
  const answer = await fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
  })
  await answer.arrayBuffer()
  return answer.status
}

describe.skipIf(!scene.hasBrowser)('a table', () => {
  test('of rejected calls wraps a long name of a model, so that the message is seen', async () => {
    // The gateway serves a new secret within a second.
    await expect.poll(() => call('w'.repeat(200))).toBe(404)
    const tab = await scene.logInAs('admin')
    await expect
      .poll(async () => {
        await open(tab, '/calls?show=rejected')
        return tab.page.getByText('www').count()
      })
      .toBeGreaterThan(0)
    expect(await isCut(tab)).toBe(false)
  })

  test('of models has its buttons in sight on a phone', async () => {
    await scene.served.addUser('tom', 'team-blue')
    const tab = await scene.openTab({ width: 390, theme: 'light' })
    await logIn(tab, 'tom', PASSWORD)
    await open(tab, '/models')
    expect(await tab.page.locator('tbody tr').count()).toBeGreaterThan(1)
    expect(await isCut(tab)).toBe(false)
  })

  test('of usage has no other dimension than the field above it says', async () => {
    expect(await call('chat')).toBe(200)
    await scene.served.addUser('tim', 'team-blue')
    const tab = await scene.logInAs('tim')
    await open(tab, '/usage?by=endpoint')
    await tab.page.getByRole('columnheader').first().waitFor()
    expect(await tab.page.getByLabel('By', { exact: true }).inputValue()).toBe('day')
    expect(await tab.page.getByRole('columnheader').first().innerText()).toBe('Day')
  })
})
