import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Tab } from './browser.ts'
import { consoleInBrowser } from './console-in-browser.ts'
import { PASSWORD } from './scene.ts'

const scene = consoleInBrowser('the keyboard is')

/** What has the focus, by what a screen reader says. */
const FOCUSED = `(() => {
  const element = document.activeElement
  const label = element?.labels?.[0]?.textContent ?? element?.getAttribute('aria-label') ?? element?.textContent
  return (label ?? '').trim()
})()`

function focused(page: Page): Promise<string> {
  return page.evaluate(FOCUSED)
}

const MOST_TABS = 60

/** Presses Tab until the focus is there. */
async function tabTo(page: Page, label: string): Promise<void> {
  const seen = [await focused(page)]
  if (seen[0] === label) return
  for (let count = 0; count < MOST_TABS; count++) {
    await page.keyboard.press('Tab')
    const now = await focused(page)
    if (now === label) return
    seen.push(now)
  }
  throw new Error(`Tab does not lead to ${label}, but to ${seen.join(' | ')}`)
}

async function fill(page: Page, label: string, text: string): Promise<void> {
  await tabTo(page, label)
  await page.keyboard.press('Control+a')
  await page.keyboard.type(text)
}

async function press(page: Page, label: string): Promise<void> {
  await tabTo(page, label)
  await page.keyboard.press('Enter')
}

/** Goes to a page or begins something by a part of its name. */
async function goTo(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+k')
  await expect.poll(() => focused(page)).toBe('Page or resource')
  await page.keyboard.type(text)
  await page.getByRole('option', { name: text, exact: false }).first().waitFor()
  await page.keyboard.press('Enter')
}

async function logInByKeyboard(): Promise<Tab> {
  const tab = await scene.openTab()
  const { page } = tab
  await page.goto('/console/')
  await page.getByLabel('User').waitFor()
  await fill(page, 'User', 'admin')
  await fill(page, 'Password', PASSWORD)
  await page.keyboard.press('Enter')
  await page.locator('main#content').waitFor()
  return tab
}

/** Closes the dialog of a secret. */
async function store(page: Page): Promise<void> {
  await page.getByRole('group', { name: 'Secret' }).waitFor()
  await tabTo(page, 'I have stored it')
  await page.keyboard.press('Space')
  await press(page, 'Close')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

describe.skipIf(!scene.hasBrowser)('by keyboard alone', { timeout: 240_000 }, () => {
  test('a model is made callable', async () => {
    const { page, faults } = await logInByKeyboard()
    const save = async (heading: string) => {
      await page.keyboard.press('Enter')
      await page.getByText('to create').waitFor()
      await press(page, 'Create')
      await page.getByRole('heading', { level: 1, name: heading }).waitFor()
    }
    await goTo(page, 'New endpoint')
    await page.getByRole('dialog', { name: 'New endpoint' }).waitFor()
    await fill(page, 'Name', 'keyed')
    await fill(page, 'Base URL', `${scene.served.demoUrl}/v1`)
    await fill(page, 'Model at the upstream', 'demo-chat')
    await save('keyed')
    await goTo(page, 'New model')
    await page.getByRole('dialog', { name: 'New model' }).waitFor()
    await fill(page, 'Name', 'keyed-chat')
    await fill(page, 'Price: input', '1')
    await save('keyed-chat')
    await press(page, 'Bind an endpoint')
    await tabTo(page, 'Endpoint')
    await page.keyboard.type('keyed')
    await tabTo(page, 'Weight')
    await page.keyboard.press('Enter')
    await page.getByText('to create').waitFor()
    await press(page, 'Create')
    await page.getByRole('link', { name: 'keyed', exact: true }).waitFor()
    expect(faults).toEqual([])
  })

  test('a key gets a secret, and another one', async () => {
    const { page, faults } = await logInByKeyboard()
    await goTo(page, 'platform-test')
    await page.getByRole('heading', { level: 1, name: 'platform-test' }).waitFor()
    await press(page, 'Issue')
    await store(page)
    await press(page, 'Rotate')
    await tabTo(page, 'Grace')
    await page.keyboard.press('ArrowDown')
    await press(page, 'Rotate')
    await store(page)
    await page.getByText('2, until the grace').waitFor()
    expect(faults).toEqual([])
  })

  test('the cause of a failed call is found, and the focus returns to its row', async () => {
    const broken = createServer((_req, res) => {
      const error = { message: 'The engine is out of memory.', type: 'server_error' }
      res.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void broken.close())
    await expect.poll(() => broken.listening).toBe(true)
    const { page, faults } = await logInByKeyboard()
    const secret = await madeBy(page, (broken.address() as AddressInfo).port)
    await expect.poll(() => callWith(secret)).toBe(502)
    await page.keyboard.press('g')
    await page.keyboard.press('c')
    await page.getByRole('heading', { level: 1, name: 'Calls' }).waitFor()
    await page.keyboard.press('/')
    await tabTo(page, 'Status')
    await page.keyboard.type('failed')
    await tabTo(page, 'Request id')
    await page
      .getByRole('button', { name: /\d:\d\d/ })
      .first()
      .waitFor()
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('j')
    const row = await focused(page)
    expect(row).toMatch(/\d:\d\d/)
    await page.keyboard.press('Enter')
    await page
      .getByRole('dialog')
      .getByText(/broken: /)
      .waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => focused(page)).toBe(row)
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    expect(faults).toEqual([])
  })
})

/** An endpoint that fails, with a model and a key. Returns the secret. */
async function madeBy(page: Page, port: number): Promise<string> {
  return page.evaluate(`(async () => {
    const { csrf_token } = await (await fetch('/api/v1/session')).json()
    const post = async (path, body) => {
      const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf_token }
      const answer = await fetch('/api/v1' + path, { method: 'POST', headers, body: JSON.stringify(body) })
      return answer.json()
    }
    const base_url = 'http://127.0.0.1:${port}/v1'
    await post('/endpoints', { name: 'broken', protocol: 'openai', base_url, served_model: 'm', skip_probe: true })
    await post('/publications', { name: 'broken-chat' })
    await post('/bindings', { publication: 'broken-chat', endpoint: 'broken' })
    await post('/keys', { name: 'broken-key', kind: 'platform' })
    return (await post('/keys/broken-key/issue', {})).secret
  })()`)
}

async function callWith(secret: string): Promise<number> {
  const answer = await fetch(`${scene.served.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'broken-chat', messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  return answer.status
}
