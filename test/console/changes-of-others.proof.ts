import type { Page, Request } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { logIn, open, PATIENCE } from './browser.ts'
import { consoleInBrowser } from './console-in-browser.ts'
import { PASSWORD } from './scene.ts'

/** More tenants than a page of a list has, and an endpoint whose header is a reference to a secret. */
const MORE = `version: 1
tenants:
${Array.from({ length: 120 }, (_, index) => `  many-${String(index).padStart(3, '0')}: {}`).join('\n')}
endpoints:
  with-header:
    protocol: openai
    base_url: https://models.example/v1
    served_model: some
    skip_probe: true
    headers: { x-team: red, api-key: { env: METRICS_TOKEN } }
`

const scene = consoleInBrowser('changes of others are', { more: MORE }, served =>
  served.addUser('tom', 'team-blue'),
)

/** Calls the REST API in the session of a page. Returns the status. */
function call(page: Page, method: string, path: string, body?: object): Promise<number> {
  return page.evaluate(`(async () => {
    const { csrf_token } = await (await fetch('/api/v1/session')).json()
    const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf_token, 'if-match': '*' }
    const body = ${JSON.stringify(body && JSON.stringify(body))}
    return (await fetch('/api/v1${path}', { method: '${method}', headers, body })).status
  })()`)
}

describe.skipIf(!scene.hasBrowser)('while others use it as well, the console', { timeout: 240_000 }, () => {
  test('shows nothing of a session to the next user of the tab', async () => {
    const { page, ...tab } = await scene.logInAs('admin')
    await open({ page, ...tab }, '/users')
    await page.getByRole('button', { name: 'tom' }).waitFor()
    await page.getByRole('button', { name: 'admin' }).first().click()
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    // The table of users has the label `Users`.
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    await page.getByLabel('User', { exact: true }).fill('tom')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('The role tenant may not do this.').first().waitFor()
    expect(await page.getByRole('group', { name: 'Users' }).count()).toBe(0)
  })

  test('keeps what another user has changed while a form was open', async () => {
    const [one, other] = [await scene.logInAs('admin'), await scene.logInAs('admin')]
    expect(await call(other.page, 'POST', '/tenants', { name: 'edited', limits: { rpm: 10 } })).toBe(201)
    const { page } = one
    await open(one, '/tenants/edited')
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByLabel('Display name').fill('Edited')
    expect(await call(other.page, 'PATCH', '/tenants/edited', { limits: { rpm: 500 } })).toBe(200)
    await page.locator('main').getByText('500', { exact: true }).first().waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'Review' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('display_name').waitFor()
    expect(await dialog.getByText('limits.rpm').count()).toBe(0)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').waitFor()
    // The form goes on with the new values below those of the user.
    await dialog.getByRole('button', { name: 'Back' }).click()
    expect(await page.getByLabel('Display name').inputValue()).toBe('Edited')
    expect(await page.getByLabel('Requests per minute').inputValue()).toBe('500')
    await page.getByRole('button', { name: 'Review' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('Edited').first().waitFor()
    const tenant = await page.evaluate("fetch('/api/v1/tenants/edited').then(answer => answer.json())")
    expect(tenant).toMatchObject({ display_name: 'Edited', limits: { rpm: 500 } })
  })

  test('makes the change that a dialog has shown, or none', async () => {
    const [one, other] = [await scene.logInAs('admin'), await scene.logInAs('admin')]
    const endpoint = {
      name: 'toggled',
      protocol: 'openai',
      base_url: `${scene.served.demoUrl}/v1`,
      served_model: 'x',
    }
    expect(await call(other.page, 'POST', '/endpoints', endpoint)).toBe(201)
    const { page } = one
    await open(one, '/endpoints/toggled')
    await page.getByRole('button', { name: 'Disable' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('enabled').first().waitFor()
    expect(await call(other.page, 'PATCH', '/endpoints/toggled', { enabled: false })).toBe(200)
    await page
      .locator('main')
      .getByRole('button', { name: 'Enable', includeHidden: true })
      .waitFor({ state: 'attached' })
    // Still to disable it, of which nothing is left to do.
    await expect.poll(() => dialog.getByRole('button', { name: 'Save' }).isDisabled(), PATIENCE).toBe(true)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Enable' }).waitFor()
  })

  test('shows in place of a deleted resource that it is gone', async () => {
    const [one, other] = [await scene.logInAs('admin'), await scene.logInAs('admin')]
    expect(await call(other.page, 'POST', '/keys', { name: 'gone', kind: 'platform' })).toBe(201)
    await open(one, '/keys/gone')
    await one.page.getByRole('button', { name: 'Delete' }).waitFor()
    expect(await call(other.page, 'DELETE', '/keys/gone')).toBe(200)
    await one.page.getByRole('alert').waitFor()
    expect(await one.page.getByRole('button', { name: 'Delete' }).count()).toBe(0)
  })

  test('shows the log-in when another administrator ends the session', async () => {
    const admin = await scene.logInAs('admin')
    const body = { name: 'eve', role: 'admin', password: PASSWORD }
    expect(await call(admin.page, 'POST', '/users', body)).toBe(201)
    const { page, ...tab } = await scene.logInAs('eve')
    await open({ page, ...tab }, '/keys')
    await page.getByText('revision', { exact: false }).first().waitFor()
    expect(await call(admin.page, 'DELETE', '/users/eve/sessions')).toBe(204)
    await page.getByText('The session has ended.').waitFor()
    expect(await page.getByRole('group', { name: 'Keys' }).count()).toBe(0)
  })

  test('connects again after an answer that is no stream of events', async () => {
    const tab = await scene.openTab()
    let attempts = 0
    await tab.page.route('**/api/v1/events', route =>
      attempts++ === 0 ? route.fulfill({ status: 502, body: 'restarting' }) : route.continue(),
    )
    await logIn(tab, 'admin', PASSWORD)
    await tab.page.getByText('Reconnecting').waitFor()
    await tab.page.getByText('Reconnecting').waitFor({ state: 'detached' })
    expect(attempts).toBe(2)
  })

  test('does not listen while its page is hidden, and has what it missed when it is seen again', async () => {
    const [one, other] = [await scene.logInAs('admin'), await scene.logInAs('admin')]
    const { page } = one
    expect(await call(other.page, 'POST', '/tenants', { name: 'unseen', display_name: 'Before' })).toBe(201)
    await open(one, '/tenants/unseen')
    const show = (isHidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} })
        document.dispatchEvent(new Event('visibilitychange'))`)
    const isEvents = (request: Request) => request.url().endsWith('/api/v1/events')
    const ended = page.waitForEvent('requestfailed', isEvents)
    await show(true)
    await ended
    expect(await call(other.page, 'PATCH', '/tenants/unseen', { display_name: 'After' })).toBe(200)
    const begun = page.waitForEvent('request', isEvents)
    await show(false)
    await begun
    await page.getByText('After').first().waitFor()
  })

  test('leaves references to secrets in headers as they are', async () => {
    const tab = await scene.logInAs('admin')
    const { page } = tab
    await open(tab, '/endpoints/with-header')
    await page.getByRole('button', { name: 'Patch' }).click()
    await page.getByRole('button', { name: 'More fields' }).click()
    const headers = page.getByLabel('Extra headers')
    const before = await headers.inputValue()
    expect(before).toContain('api-key: {"env":"METRICS_TOKEN"}')
    await headers.fill(before.replace('red', 'blue'))
    await page.getByRole('button', { name: 'Review' }).click()
    const patch = (await page.getByRole('group', { name: 'Diff' }).textContent()) ?? ''
    expect(patch).toMatch(/\+.*x-team: blue/)
    expect(patch).not.toContain('object Object')
    expect(
      patch
        .split('\n')
        .filter(line => line.startsWith('+'))
        .join(),
    ).toContain('env: METRICS_TOKEN')
  })

  test('offers every tenant, also behind the first page of the list', async () => {
    const tab = await scene.logInAs('admin')
    const { page } = tab
    await open(tab, '/users')
    await page.getByRole('button', { name: 'New user' }).click()
    await page.getByRole('dialog').getByLabel('Tenant').selectOption('many-119')
  })

  test('keeps a revision that does not exist in its field', async () => {
    const tab = await scene.logInAs('admin')
    const { page } = tab
    await open(tab, '/history')
    await page.getByRole('group', { name: 'Revisions' }).getByRole('button').first().click()
    await page.getByLabel('Changes since revision').fill('987654')
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Changes since revision').inputValue()).toBe('987654')
  })

  test('keeps the model that was entered while an older probe ran', async () => {
    const tab = await scene.logInAs('admin')
    const { page } = tab
    await open(tab, '/setup')
    let answer: () => void = () => undefined
    const held = new Promise<void>(resolve => {
      answer = resolve
    })
    await page.route('**/api/v1/endpoints/probe', async route => {
      await held
      await route.continue()
    })
    await page.getByLabel('Base URL').fill(`${scene.served.demoUrl}/v1`)
    const asked = page.waitForRequest('**/api/v1/endpoints/probe')
    await page.getByRole('button', { name: 'Probe' }).click()
    await asked
    await page.getByLabel('Base URL').fill('https://other.example/v1')
    await page.getByLabel('Model at the upstream').fill('own-model')
    const answered = page.waitForResponse('**/api/v1/endpoints/probe')
    answer()
    await (await answered).finished()
    // What the answer would change is drawn by then.
    await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
    expect(await page.getByLabel('Model at the upstream').inputValue()).toBe('own-model')
  })

  test('takes a link to log in out of the address, and asks which user goes on', async () => {
    const tab = await scene.logInAs('admin')
    const link = (await scene.served.gw('users', 'link', 'tom', '--console', scene.served.controlUrl)).trim()
    await tab.page.goto(link)
    await tab.page.getByText('This browser is logged in as admin.').waitFor()
    expect(tab.page.url()).not.toContain('gwl_')
    await tab.page.getByRole('button', { name: 'Log in' }).click()
    await tab.page.getByRole('button', { name: 'tom' }).waitFor()
  })
})
