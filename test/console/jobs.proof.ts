import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { accessibilityFaults, logIn, open, PATIENCE } from './browser.ts'
import { consoleInBrowser } from './console-in-browser.ts'
import { PASSWORD } from './scene.ts'

const scene = consoleInBrowser('what the console does is')

describe.skipIf(!scene.hasBrowser)('the console', { timeout: 240_000 }, () => {
  test('makes a model callable, and the call is billed', async () => {
    const tab = await scene.logInAs('admin')
    const { page } = tab
    const save = async (word: string) => {
      await page.getByRole('button', { name: 'Review' }).click()
      await page.getByRole('dialog').getByRole('button', { name: word, exact: true }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }

    await open(tab, '/endpoints')
    await page.getByRole('button', { name: 'New endpoint' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('own')
    await page.getByLabel('Base URL').fill(`${scene.served.demoUrl}/v1`)
    await page.getByLabel('Model at the upstream').fill('demo-chat')
    await save('Create')
    await page.getByRole('heading', { level: 1, name: 'own' }).waitFor()

    await open(tab, '/publications')
    await page.getByRole('button', { name: 'New model' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('own-chat')
    await page.getByLabel('Price: input').fill('1')
    await page.getByLabel('Price: output').fill('2')
    await page.getByRole('dialog').getByLabel('Endpoint').selectOption('own')
    await save('Create')
    await page.getByRole('heading', { level: 1, name: 'own-chat' }).waitFor()
    await page.getByRole('link', { name: 'own', exact: true }).waitFor()

    await open(tab, '/keys')
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('own-key')
    await page.getByLabel('Kind').selectOption('platform')
    await save('Create')
    await page.getByRole('button', { name: 'Issue' }).click()
    const secret = (await page.getByRole('group', { name: 'Secret' }).textContent())?.trim() ?? ''
    expect(secret).toMatch(/^gw_/)
    // Escape does not lose it, and neither does a click on Close before it is stored.
    await page.keyboard.press('Escape')
    expect(await page.getByRole('dialog').count()).toBe(1)
    expect(await page.getByRole('button', { name: 'Close' }).isDisabled()).toBe(true)
    await page.getByLabel('I have stored it').check()
    await page.getByRole('button', { name: 'Close' }).click()
    expect(await page.content()).not.toContain(secret)
    // Its page has its audit.
    await page.getByRole('region', { name: 'Changes' }).getByRole('cell', { name: 'issue key' }).waitFor()

    const asked = page.waitForRequest(/\/call-logs\?/)
    await open(tab, '/calls')
    const since = new URL((await asked).url()).searchParams.get('since') ?? ''
    // The last 24 hours begin at a whole hour, so that consoles ask the same and share the answer.
    const sinceMs = Date.parse(since)
    expect(sinceMs % 3_600_000).toBe(0)
    expect(Date.now() - sinceMs).toBeGreaterThanOrEqual(86_400_000)
    expect(Date.now() - sinceMs).toBeLessThan(86_400_000 + 3_660_000)
    const ask = (model: string) =>
      fetch(`${scene.served.gatewayUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] }),
      })
    const answer = await ask('own-chat')
    expect(answer.status, await answer.text()).toBe(200)
    // It comes by itself, and so does one that is rejected.
    await page.getByRole('cell', { name: 'own-key' }).first().waitFor()
    await page.getByLabel('Show').selectOption('rejected')
    await page.getByText('No call was rejected.').waitFor()
    expect((await ask('own-chatt')).status).toBe(404)
    await page.getByRole('cell', { name: 'The model own-chatt does not exist' }).waitFor()
    expect(tab.faults).toEqual([])
  })

  test('changes nothing that files own: its patch makes exactly the change', async () => {
    const tab = await scene.logInAs('admin')
    const { page } = tab
    await open(tab, '/keys/team-blue-app')
    await page.getByRole('button', { name: 'Patch' }).click()
    await page.getByLabel('Requests per minute').fill('90')
    await page.getByRole('button', { name: 'Review' }).click()
    const patch = (await page.getByRole('group', { name: 'Diff' }).textContent()) ?? ''
    expect(patch).toContain('+      rpm: 90')
    expect(await page.getByRole('dialog').getByRole('button', { name: 'Save' }).count()).toBe(0)
    // Long lines of the file are scrolled within the diff.
    const hidden =
      'document.querySelector(".dialog-body").scrollWidth - document.querySelector(".dialog-body").clientWidth'
    expect(await page.evaluate(hidden)).toBe(0)
    expect(await accessibilityFaults(tab)).toEqual([])
    await page.getByRole('button', { name: 'Copy the patch' }).click()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(patch)
    execFileSync('git', ['apply', '-'], { cwd: scene.served.folder, input: patch })
    const { changes } = JSON.parse(await scene.served.gw('diff', '-c', 'config', '--format', 'json')) as {
      changes: readonly { kind: string; name: string; fields: readonly { path: string; after: unknown }[] }[]
    }
    expect(changes).toMatchObject([
      { kind: 'key', name: 'team-blue-app', fields: [{ path: 'limits.rpm', after: 90 }] },
    ])
    expect(changes[0]?.fields).toHaveLength(1)
    expect(tab.faults).toEqual([])
  })

  test('lets a node join, shows what it does, drains and revokes it', async () => {
    const tab = await scene.logInAs('admin')
    const { page } = tab
    const confirm = async (word: string) => {
      await page.getByRole('button', { name: word, exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name: word }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await open(tab, '/nodes')
    await page.getByRole('button', { name: 'New join token' }).click()
    await page.getByLabel('Name of the node').fill('gpu-8')
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    const command = (await page.getByRole('group', { name: 'Command' }).textContent())?.trim() ?? ''
    const [, token = '', server, name] =
      /^echo '(\S+)' \| gw node join --server (\S+) --name (\S+) /.exec(command) ?? []
    expect([server, name]).toEqual([scene.served.nodesUrl, 'gpu-8'])
    await page.getByLabel('I have stored it').check()
    await page.getByRole('button', { name: 'Close' }).click()
    expect(await page.content()).not.toContain(token)
    await page.getByRole('button', { name: 'Revoke the token for gpu-8' }).waitFor()
    await scene.served.joinNode('gpu-8', token)
    await page.getByText('connected', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'gpu-8' }).click()

    // Its engine with the model, and an endpoint that is made here and chooses it.
    await page.getByRole('region', { name: 'Engines' }).getByText('demo-chat').waitFor()
    await open(tab, '/endpoints')
    await page.getByRole('button', { name: 'New endpoint' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('on-gpu-8')
    await page.getByLabel('Served at').selectOption('engines on nodes')
    await page.getByLabel('Engine', { exact: true }).fill('demo')
    await page.getByLabel('Nodes with the names').fill('gpu-8')
    await page.getByLabel('Model at the upstream').fill('demo-chat')
    await page.getByRole('button', { name: 'Review' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name: 'on-gpu-8' }).waitFor()
    await page.getByText('matches 1 node, all connected').waitFor()
    await page.getByRole('region', { name: 'Nodes' }).getByRole('link', { name: 'gpu-8' }).click()
    await page.getByRole('link', { name: 'on-gpu-8' }).waitFor()

    await confirm('Drain')
    await page.getByText('draining').first().waitFor()
    await confirm('Uncordon')
    await page.getByText('connected', { exact: true }).first().waitFor()
    await confirm('Revoke')
    await page.getByRole('heading', { level: 1, name: 'Nodes' }).waitFor()
    await page.getByText('No node has joined yet').waitFor()
    expect(tab.faults).toEqual([])
  })

  test('shows the users of a tenant what is theirs, and the server rejects the rest', async () => {
    const admin = await scene.logInAs('admin')
    const created = await admin.page.evaluate(`(async () => {
      const { csrf_token } = await (await fetch('/api/v1/session')).json()
      const answer = await fetch('/api/v1/users', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-csrf-token': csrf_token },
        body: JSON.stringify({ name: 'tom', role: 'tenant', tenant: 'team-blue', password: '${PASSWORD}' }),
      })
      return answer.status
    })()`)
    expect(created).toBe(201)
    const tab = await scene.openTab()
    const { page } = tab
    await logIn(tab, 'tom', PASSWORD)
    const menu = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allTextContents()
    expect(menu).toEqual([
      'Overview',
      'Models',
      'API Keys',
      'Playground',
      'Why',
      'Calls',
      'Usage and cost',
      'Wallet',
    ])
    for (const path of ['/', '/models', '/keys', '/playground', '/calls', '/usage', '/wallet', '/account'])
      await open(tab, path)
    await open(tab, '/keys/team-blue-app')
    expect(await page.getByRole('button', { name: 'Patch' }).count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0)
    // Keys of its own, within the bounds of the operator.
    await open(tab, '/keys')
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('team-blue/mine')
    await page.getByLabel('Requests per minute').fill('61')
    await page.getByRole('button', { name: 'Review' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByRole('alert').getByText('at most 60').waitFor()
    await page.getByRole('button', { name: 'Back' }).click()
    await page.locator('[aria-invalid="true"]:focus').and(page.getByLabel('Requests per minute')).waitFor()
    await page.getByLabel('Requests per minute').fill('10')
    await page.getByRole('button', { name: 'Review' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name: 'team-blue/mine' }).waitFor()
    for (const act of ['Issue', 'Rotate']) {
      await page.getByRole('button', { name: act }).click()
      if (act === 'Rotate') await page.getByRole('dialog').getByRole('button', { name: act }).click()
      await page.getByLabel('I have stored it').check()
      await page.getByRole('button', { name: 'Close' }).click()
    }
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('no secret').first().waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { level: 1, name: 'API Keys' }).waitFor()
    tab.faults.splice(0, tab.faults.length, ...tab.faults.filter(fault => !fault.includes('status of 422')))
    expect(tab.faults).toEqual([])
    // By its address the page asks, and the server answers 403.
    await open(tab, '/endpoints')
    await page.getByText('The role tenant may not do this.').first().waitFor()
  })

  test('shows the plan of a way back before it is made, and that files win', async () => {
    const tab = await scene.logInAs('admin')
    const { page } = tab
    await open(tab, '/tenants')
    await page.getByRole('button', { name: 'New tenant' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('short-lived')
    await page.getByRole('button', { name: 'Review' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name: 'short-lived' }).waitFor()
    await open(tab, '/history')
    await page.getByRole('button', { name: 'Roll back' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('1 to delete').waitFor()
    await dialog.getByText('Files that say otherwise win at their next apply.').waitFor()
    await dialog.getByRole('button', { name: 'Roll back' }).click()
    await dialog.getByRole('status').waitFor()
    await open(tab, '/tenants')
    expect(await page.getByText('short-lived').count()).toBe(0)
    expect(tab.faults).toEqual([])
  })

  test('says that the session has ended, and goes on at the same page after the log-in', async () => {
    const tab = await scene.logInAs('admin')
    const { page } = tab
    await open(tab, '/history')
    await tab.context.clearCookies()
    // An event that arrives makes the page ask again, if it has not asked by itself before.
    await scene.served.gw('keys', 'disable', 'team-blue-app')
    await scene.served.gw('keys', 'enable', 'team-blue-app')
    await page.getByText('The session has ended.').waitFor()
    await page.getByLabel('User').fill('admin')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { level: 1, name: 'History' }).waitFor()
    expect(tab.faults.filter(fault => !fault.includes('status of 401'))).toEqual([])
    // One that the user ends is no surprise.
    await page.getByRole('button', { name: 'admin' }).click()
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    await page.getByLabel('Password').waitFor()
    expect(await page.getByText('The session has ended.').count()).toBe(0)
  })

  test('logs in by a link, once', async () => {
    const tab = await scene.openTab()
    const link = (
      await scene.served.gw('users', 'link', 'admin', '--console', scene.served.controlUrl)
    ).trim()
    await tab.page.goto(link)
    await tab.page.getByRole('button', { name: 'Log in' }).click()
    await tab.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(tab.page.url()).not.toContain('gwl_')
    expect(tab.faults).toEqual([])
    const other = await scene.openTab()
    await other.page.goto(link)
    await other.page.getByRole('button', { name: 'Log in' }).click()
    await other.page.getByText('was used already').waitFor()
    await other.page.getByLabel('Password').waitFor()
  })

  test('takes numbers and words in a filter for text', async () => {
    const tab = await scene.logInAs('admin')
    for (const text of ['1999', 'true', '1e3']) {
      await open(tab, `/keys?q=${text}`)
      await tab.page.getByRole('searchbox', { name: 'Name' }).waitFor()
      expect(await tab.page.getByRole('searchbox', { name: 'Name' }).inputValue()).toBe(text)
    }
    await tab.page.getByRole('searchbox', { name: 'Name' }).fill('2000')
    await tab.page.waitForURL(/q=2000/)
    expect(tab.faults).toEqual([])
  })

  test('does not leave a secret that was not stored, and makes one for two clicks', async () => {
    const tab = await scene.logInAs('admin')
    const { page } = tab
    let posts = 0
    page.on('request', request => {
      if (request.method() === 'POST' && request.url().endsWith('/issue')) posts++
    })
    await open(tab, '/keys')
    await page.getByRole('link', { name: 'platform-test', exact: true }).click()
    await page.getByRole('button', { name: 'Issue' }).dblclick()
    await page.getByRole('dialog', { name: 'The secret of' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.goBack().catch(() => undefined)
    await page.getByRole('dialog', { name: 'The secret of' }).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(1)
    expect(posts).toBe(1)
    await page.getByLabel('I have stored it').check()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('says at its field that the name of a new key is taken', async () => {
    const tab = await scene.logInAs('admin')
    const { page } = tab
    await open(tab, '/keys')
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('platform-test')
    await page.getByLabel('Kind').selectOption('platform')
    await page.getByRole('button', { name: 'Review' }).click()
    await page.getByText('There is a key platform-test already.').waitFor()
    expect(await page.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'Back' }).click()
    await page.getByText('This name is taken.').waitFor()
  })

  test('closes the dialogs of a resource when another one is shown', async () => {
    const tab = await scene.logInAs('admin')
    const { page } = tab
    await open(tab, '/keys/team-blue-app')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('platform-test')
    await page.getByRole('option', { name: 'platform-test' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'platform-test' }).waitFor()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('dialog', { name: 'Disable platform-test' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'team-blue-app' }).waitFor({ state: 'attached' })
    await page.getByRole('dialog').waitFor({ state: 'detached', ...PATIENCE })
  })

  test('shows a change of another browser within two seconds, and comes back after a restart', async () => {
    const [one, other] = [await scene.logInAs('admin'), await scene.logInAs('admin')]
    await open(one, '/keys/team-blue-app')
    await open(other, '/keys/team-blue-app')
    await other.page.getByRole('button', { name: 'Disable' }).click()
    await other.page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
    await one.page.getByText('suspended').waitFor({ timeout: 2_000 })
    // The gateway restarts: each page says so, and comes back by itself.
    const say = [one, other].map(({ page }) => page.getByText('Reconnecting').waitFor())
    await scene.served.restart()
    await Promise.all(say)
    for (const { page } of [one, other]) await page.getByText('Reconnecting').waitFor({ state: 'detached' })
    await other.page.getByRole('button', { name: 'Enable' }).click()
    await other.page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click()
    await one.page.getByText('suspended').waitFor({ state: 'detached' })
  })
})
