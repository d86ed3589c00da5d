import { statSync } from 'node:fs'
import { chmod, readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { tempDir } from '../support/temp-dir.ts'
import { type WholeGateway, wholeGateway } from '../support/whole-gateway.ts'
import { gw } from './in-process.ts'

const dir = tempDir(afterAll)
const PASSWORD = 'correct horse battery'
let gateway: WholeGateway

beforeAll(async () => {
  const config = dir.write(
    'gw.yaml',
    `version: 1
endpoints: { main: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: m } }
publications: { chat: { bindings: [{ endpoint: main }] } }
tenants: { acme: {} }
keys: { app: { kind: platform } }
`,
  )
  gateway = await wholeGateway(afterAll, config, { GW_ADMIN_PASSWORD: PASSWORD })
})

const run = (line: string, environment: Record<string, string> = {}, stdin = '') =>
  gw(line.split(' '), {
    cwd: dir.path,
    clock: systemClock,
    stdin,
    environment: { HOME: dir.path, GW_STORE: gateway.store, ...environment },
  })
const users = (token: string) =>
  fetch(`${gateway.controlUrl}/api/v1/users`, { headers: { authorization: `Bearer ${token}` } })
const why = (environment: Record<string, string> = {}) =>
  run(`why --url ${gateway.controlUrl} --key app --model chat`, environment)

describe('gw tokens', () => {
  it('makes a token, alone on stdout; lists it with its end and use, and revokes it at once', async () => {
    const made = await run('tokens create nightly --user admin --expires 30d')
    expect(made.stdout).toMatch(/^gwp_[\w-]{43}\n$/)
    const token = made.stdout.trim()
    expect((await users(token)).status).toBe(200)
    const listed = await run('tokens list --format json')
    const [row] = JSON.parse(listed.stdout).data
    expect(row).toMatchObject({ name: 'nightly', user: 'admin', role: 'admin', scope: 'read' })
    const spanMs = Date.parse(row.expires_at) - Date.parse(row.created_at)
    expect(Math.abs(spanMs - 30 * 86_400_000)).toBeLessThan(1_000)
    expect(Date.parse(row.last_used_at)).toBeGreaterThan(0)
    expect(listed.stdout).not.toContain(token)
    expect(await run(`tokens revoke ${row.id}`)).toMatchObject({ exit: 0 })
    expect((await users(token)).status).toBe(401)
    expect(await run(`tokens revoke ${row.id}`)).toMatchObject({ exit: 4 })
  })

  it.each([
    ['tokens create x', 64, '--user'],
    ['tokens create x --user absent', 4, 'absent'],
    ['tokens create x --user admin --tenant nowhere', 4, 'There is no tenant nowhere'],
    ['tokens create x --user admin --expires 800d', 64, '366 days'],
  ])('rejects `gw %s`', async (line, exit, words) => {
    expect(await run(line)).toMatchObject({ exit, stderr: expect.stringContaining(words) })
  })
})

describe('gw login', () => {
  const file = () => dir.at('.config/gw/login.json')

  it('keeps a token that only its owner can read, which opens the control plane until gw logout', {
    timeout: 60_000,
  }, async () => {
    expect(await why()).toMatchObject({ exit: 4, stderr: expect.stringContaining('gw login') })
    const login = `login --url ${gateway.controlUrl} --user admin --password - --expires 1h`
    const done = await run(login, {}, `${PASSWORD}\n`)
    expect(done, done.stderr).toMatchObject({ exit: 0 })
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    const kept = JSON.parse(await readFile(file(), 'utf8')).control_planes[gateway.controlUrl]
    expect(done.stdout + done.stderr).not.toContain(kept.token)
    expect(await why()).toMatchObject({ exit: 0, stdout: expect.stringContaining('chat') })
    expect(await why({ GW_TOKEN: 'gwp_other' })).toMatchObject({ exit: 1 })
    const out = await run(`logout --url ${gateway.controlUrl}`)
    expect(out, out.stderr).toMatchObject({ exit: 0, stdout: expect.stringContaining('Logged out') })
    expect((await users(kept.token)).status).toBe(401)
    expect(await why()).toMatchObject({ exit: 4 })
  })

  it('rejects a wrong password, and a file that others can read', { timeout: 60_000 }, async () => {
    const login = `login --url ${gateway.controlUrl} --user admin --password -`
    const wrong = await run(login, {}, 'not it at all\n')
    expect(wrong).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('The name or the password is wrong'),
    })
    dir.write('.config/gw/login.json', '{"version":1,"control_planes":{}}')
    await chmod(file(), 0o644)
    expect(await why()).toMatchObject({ exit: 4, stderr: expect.stringContaining('Others can read') })
    await chmod(file(), 0o600)
  })
})

describe('--url is the control plane in every command', () => {
  it('and the gateway for inference is recognised there, as the control plane is by --gateway', async () => {
    const wrong = await run(`why --url ${gateway.gatewayUrl} --key app`, { GW_TOKEN: 'gwp_x' })
    expect(wrong).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('is the gateway for inference, not the control plane'),
    })
    const swapped = await run(`status --gateway ${gateway.controlUrl}`)
    expect(swapped.stderr).toContain('it is a control plane of gw')
    const asked = await run(`status --url ${gateway.controlUrl}`)
    expect(asked).toMatchObject({ exit: 64, stderr: expect.stringContaining('--gateway') })
  })

  it('what the address of the control plane leads to says what it is, to browsers and to scripts', async () => {
    const json = await (await fetch(gateway.controlUrl)).json()
    expect(json).toMatchObject({ service: 'gw control plane', links: { health: '/health' } })
    expect(JSON.stringify(json)).toContain('gw users create')
    const page = await fetch(gateway.controlUrl, { headers: { accept: 'text/html,*/*' } })
    expect(page.headers.get('content-type')).toContain('text/html')
    expect(await page.text()).toContain('<title>gw console</title>')
  })
})
