import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { accessibilityFaults, logIn } from './browser.ts'
import { consoleInBrowser } from './console-in-browser.ts'
import { PASSWORD } from './scene.ts'

const scene = consoleInBrowser('the set-up is', { isEmpty: true })

const CREDENTIAL = 'sk-the-right-one'

/** The demo upstream behind a server that wants a credential and knows its models. Returns its address, without `/v1`. */
async function strictUpstream(): Promise<string> {
  const answerStrictly = async (req: IncomingMessage, res: ServerResponse) => {
    const reject = (status: number, code: string, message: string) => {
      const error = { message, type: 'invalid_request_error', code }
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    }
    if (req.headers.authorization !== `Bearer ${CREDENTIAL}`)
      return reject(401, 'invalid_api_key', 'Incorrect API key provided.')
    const body = (await req.toArray()).join('')
    if (req.url?.startsWith('/v1/') && body.includes('"no-such-model"'))
      return reject(404, 'model_not_found', 'The model `no-such-model` does not exist.')
    const { method = 'GET', headers } = req
    const answer = await fetch(`${scene.served.demoUrl}${req.url}`, {
      method,
      headers: { 'content-type': headers['content-type'] ?? 'application/json' },
      ...(method === 'POST' && { body }),
    })
    res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    res.end(await answer.text())
  }
  const server = createServer((req, res) => {
    answerStrictly(req, res).catch((error: Error) => res.destroy(error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function statusOf(secret: string): Promise<number> {
  const headers = { authorization: `Bearer ${secret}` }
  return (await fetch(`${scene.served.gatewayUrl}/v1/models`, { headers })).status
}

describe.skipIf(!scene.hasBrowser)('the setup', () => {
  test('by mouse from an empty store to an answered and billed call', { timeout: 240_000 }, async () => {
    const tab = await scene.openTab()
    const { page } = tab
    const upstream = await strictUpstream()
    await logIn(tab, 'admin', PASSWORD)
    await page.getByRole('link', { name: 'Set up a model' }).click()

    // Each fault has its diagnosis, before anything is saved.
    const url = page.getByLabel('Base URL')
    const finding = page.getByRole('region', { name: 'Endpoint' }).locator('.notice')
    const probe = () => page.getByRole('button', { name: 'Probe', exact: true }).click()
    await url.fill(`http://127.0.0.1:${await freePort()}/v1`)
    await probe()
    expect(await finding.textContent()).toContain('Nothing listens')
    await url.fill(`${upstream}/v1`)
    await page.getByLabel('Credential').fill('sk-wrong')
    await probe()
    expect(await finding.textContent()).toContain('credential')
    await page.getByLabel('Credential').fill(CREDENTIAL)
    await page.getByLabel('Model at the upstream').fill('no-such-model')
    await probe()
    expect(await finding.textContent()).toContain('does not know the model')
    await url.fill(upstream)
    await probe()
    expect(await finding.textContent()).toContain('does not know the path')
    await page.getByRole('button', { name: `Use ${upstream}/v1` }).click()
    await page.getByRole('combobox', { name: 'Model at the upstream' }).selectOption('demo-chat')
    await page.getByText('demo-chat answers').waitFor()
    expect(await accessibilityFaults(tab)).toEqual([])
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('first')
    await page.getByRole('button', { name: 'Create the endpoint' }).click()

    await page.getByLabel('Model name').fill('my-chat')
    await page.getByLabel('Price: input').fill('1')
    await page.getByLabel('Price: output').fill('2')
    await page.getByRole('button', { name: 'Publish and bind it' }).click()

    await page.getByRole('button', { name: 'Create the key and its secret' }).click()
    const line = await page.getByRole('group', { name: 'The call with curl' }).textContent()
    const secret = /gw_\w+/.exec(line ?? '')?.[0] ?? ''
    expect(page.url()).not.toContain(secret)
    await page.getByRole('button', { name: 'Send it' }).click()
    await page.getByText('Answered and billed.').waitFor()
    expect(await page.getByRole('region', { name: 'Call' }).textContent()).toMatch(/Cost0\.0000\d+ USD/)
    expect(await accessibilityFaults(tab)).toEqual([])

    // The file that it exports makes no difference once it is applied.
    await page.getByRole('button', { name: 'Export as YAML for git' }).click()
    const dialog = page.getByRole('dialog')
    const yaml = await dialog.getByRole('group', { name: 'Configuration' }).textContent()
    expect(yaml).toContain('env: FIRST_KEY')
    const command = await dialog
      .getByRole('group', { name: 'Command that adopts the resources' })
      .textContent()
    const adopted = [...(command ?? '').matchAll(/--adopt '([^']+)'/g)].flatMap(([, id = '']) => [
      '--adopt',
      id,
    ])
    writeFileSync(`${scene.served.folder}/gw.yaml`, yaml ?? '')
    const { changes } = JSON.parse(
      await scene.served.gw('diff', '-c', 'gw.yaml', ...adopted, '--format', 'json'),
    ) as { changes: readonly { kind: string; fields: readonly { path: string }[] }[] }
    // Each has a new owner, and the credential a new source.
    expect(changes.map(({ kind, fields }) => [kind, ...fields.map(({ path }) => path)])).toEqual([
      ['endpoint', 'upstream_key'],
      ['publication'],
      ['binding'],
      ['key'],
    ])
    await page.getByRole('button', { name: 'Close' }).first().click()
    await page.getByRole('link', { name: 'Its call' }).click()
    await page.getByRole('cell', { name: 'my-chat' }).waitFor()
    expect(tab.faults).toEqual([])

    const models = await fetch(`${scene.served.gatewayUrl}/v1/models`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    expect(await models.text()).toContain('my-chat')

    // The operator makes a tenant and its user; the user makes a key, calls with it, and sees the charge.
    await page.getByRole('link', { name: 'Tenants and wallets' }).click()
    await page.getByRole('button', { name: 'New tenant' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('blue')
    await page.getByLabel('Keys that its users may create').fill('2')
    await page.getByRole('button', { name: 'Review' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name: 'blue' }).waitFor()
    await page.getByRole('button', { name: 'Credit' }).click()
    await page.getByLabel('Amount').fill('12.50')
    await page.getByLabel('Reference').fill('invoice 1')
    await page.getByRole('dialog').getByRole('button', { name: 'Credit' }).click()
    await page.getByText('12.50 USD').waitFor()
    await page.getByRole('link', { name: 'Users and tokens' }).click()
    await page.getByRole('button', { name: 'New user' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('tom')
    await page.getByLabel('Tenant').selectOption('blue')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByRole('button', { name: 'tom' }).waitFor()
    expect(tab.faults).toEqual([])

    const own = await scene.openTab()
    await logIn(own, 'tom', PASSWORD)
    await own.page.getByRole('link', { name: 'API Keys' }).click()
    await own.page.getByRole('button', { name: 'New key' }).click()
    await own.page.getByRole('textbox', { name: 'Name', exact: true }).fill('blue/app')
    await own.page.getByRole('button', { name: 'Review' }).click()
    await own.page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await own.page.getByRole('button', { name: 'Issue' }).click()
    const theirs = (await own.page.getByRole('group', { name: 'Secret' }).textContent())?.trim() ?? ''
    await own.page.getByLabel('I have stored it').check()
    await own.page.getByRole('button', { name: 'Close' }).click()
    await own.page.getByRole('link', { name: 'Models' }).click()
    await own.page.getByRole('link', { name: 'Try my-chat' }).click()
    await own.page.getByLabel('Secret of a key').fill(theirs)
    // A gateway reads a new secret within a second.
    await expect.poll(() => statusOf(theirs)).toBe(200)
    await own.page.getByRole('button', { name: 'Send' }).click()
    await own.page.getByText('200 answered').waitFor()
    await own.page.getByText('Tokens per second').waitFor()
    await own.page.getByRole('link', { name: 'Wallet' }).click()
    await own.page.getByRole('cell', { name: 'charge' }).waitFor()
    expect(own.faults).toEqual([])
  })
})
