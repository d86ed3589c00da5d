import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { API_PREFIX, OPERATION_IDS, operation } from '../../src/schema/api/operations.ts'
import { rolesOf } from '../../src/schema/api/permissions.ts'
import { open, PATIENCE } from './browser.ts'
import { consoleInBrowser } from './console-in-browser.ts'

/** Every page, with the roles whose menu has it, or leads to it from a page of the menu. */
const PAGES: Readonly<Record<string, readonly ('admin' | 'tenant')[]>> = {
  '/': ['admin', 'tenant'],
  '/setup': ['admin'],
  '/endpoints': ['admin'],
  '/endpoints/demo-openai': ['admin'],
  '/nodes': ['admin'],
  '/nodes/gpu-7': ['admin'],
  '/publications': ['admin'],
  '/publications/chat': ['admin'],
  '/models': ['admin', 'tenant'],
  '/keys': ['admin', 'tenant'],
  '/keys/team-blue-app': ['admin', 'tenant'],
  '/playground': ['admin', 'tenant'],
  '/why': ['admin', 'tenant'],
  '/why?key=team-blue-app&model=chat': ['admin', 'tenant'],
  '/calls': ['admin', 'tenant'],
  '/usage': ['admin', 'tenant'],
  '/usage?by=hour': ['admin', 'tenant'],
  '/tenants': ['admin', 'tenant'],
  '/tenants/team-blue': ['admin', 'tenant'],
  '/wallet': ['tenant'],
  '/sets': ['admin'],
  '/plan': ['admin'],
  '/history': ['admin'],
  '/users': ['admin'],
  '/audit': ['admin'],
  '/maintenance': ['admin'],
  '/account': ['admin', 'tenant'],
}
/** Pages whose form asks the server only when it is sent. */
const ASKS_LATER = new Set(['/plan', '/why'])

const scene = consoleInBrowser('roles in the console are', {}, async served => {
  await served.addUser('tom', 'team-blue')
  await served.joinNode('gpu-7')
})

/** The status of an answer to the session of the page. */
function send(page: Page, method: string, path: string, body?: object): Promise<number> {
  return page.evaluate(`(async () => {
    const { csrf_token } = await (await fetch('/api/v1/session')).json()
    const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf_token, 'if-match': '*' }
    const body = ${body ? `'${JSON.stringify(body)}'` : 'undefined'}
    const answer = await fetch('${API_PREFIX}${path}', { method: '${method}', headers, body })
    return answer.status
  })()`)
}

describe.skipIf(!scene.hasBrowser)('each page', { timeout: 240_000 }, () => {
  test.each([
    ['admin', 'admin'],
    ['tom', 'tenant'],
  ] as const)('for %s asks only for what the role may have', async (user, role) => {
    const tab = await scene.logInAs(user)
    const rejected: string[] = []
    tab.page.on('response', answer => {
      if (answer.status() >= 400) rejected.push(`${answer.status()} ${new URL(answer.url()).pathname}`)
    })
    for (const [path, roles] of Object.entries(PAGES)) {
      // Ends what the last page still asks for.
      await tab.page.goto('about:blank')
      rejected.length = 0
      await open(tab, path).catch(() => undefined)
      if (roles.includes(role)) expect(rejected, path).toEqual([])
      else if (role === 'tenant' && !ASKS_LATER.has(path))
        await expect.poll(() => rejected.join(), { ...PATIENCE, message: path }).toContain('403')
    }
  })

  test('of the menu is one that the role may have, and no other is in it', async () => {
    for (const [user, role] of [
      ['admin', 'admin'],
      ['tom', 'tenant'],
    ] as const) {
      const tab = await scene.logInAs(user)
      const links = await tab.page
        .getByRole('navigation', { name: 'Main' })
        .getByRole('link')
        .evaluateAll(found => found.map(link => new URL((link as unknown as { href: string }).href).pathname))
      expect(links.length).toBeGreaterThan(5)
      for (const link of links) {
        const path = link.replace(/^\/console\/?/, '/').replace(/^\/\//, '/')
        expect(PAGES[path] ?? ['none'], path).toContain(role)
      }
    }
  })
})

describe.skipIf(!scene.hasBrowser)('the server', { timeout: 240_000 }, () => {
  test('rejects every operation that a tenant may not call, from its own session', async () => {
    const tab = await scene.logInAs('tom')
    const hidden = OPERATION_IDS.filter(id => rolesOf(id).length > 0 && !rolesOf(id).includes('tenant'))
    expect(hidden.length).toBeGreaterThan(30)
    for (const id of hidden) {
      const { method, path } = operation(id)
      const filled = path.replace('{name}', 'team-blue').replaceAll(/\{\w+\}/g, '1')
      expect(await send(tab.page, method, filled), id).toBe(403)
    }
  })
})

describe.skipIf(!scene.hasBrowser)('a table', { timeout: 240_000 }, () => {
  test('is saved for spreadsheets', async () => {
    const tab = await scene.logInAs('admin')
    await open(tab, '/usage?by=model')
    const download = tab.page.waitForEvent('download')
    await tab.page.getByRole('button', { name: 'CSV' }).click()
    const file = await download
    expect(file.suggestedFilename()).toMatch(/^usage-by-model-\d{4}-\d\d-\d\d-to-\d{4}-\d\d-\d\d\.csv$/)
    expect(readFileSync(await file.path(), 'utf8')).toMatch(
      /^model,requests,input_tokens,.*,images,.*,cost,currency,since,until\r\n/,
    )
    expect(tab.faults).toEqual([])
  })
})
