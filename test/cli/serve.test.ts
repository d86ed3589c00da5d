import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { SECRET, said, scene, start } from '../crash/scene.ts'
import { json } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'
import { gwProcess, startGw } from './process.ts'

const FILE = (model: string) => `version: 1
endpoints: { main: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: m } }
publications: { ${model}: { bindings: [{ endpoint: main }] } }
`
const LISTEN = ['--listen', '127.0.0.1:0']
const PORTS = ['--gateway-only', ...LISTEN]

/** `gw serve`, and the lines of its log by what they say. */
function served(cwd: string, ...words: string[]) {
  const { child, ended } = startGw(['serve', ...LISTEN, ...words], { cwd, stdin: '' })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  const lines = (): Record<string, unknown>[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line) as Record<string, unknown>)
  child.stdout.on('data', (piece: Buffer) => {
    text += piece.toString()
  })
  return {
    child,
    ended,
    logged: async (message: string, count = 1): Promise<Record<string, unknown>> => {
      for (;;) {
        const found = lines().filter(({ msg }) => msg === message)[count - 1]
        if (found) return found
        await once(child.stdout, 'data')
      }
    },
  }
}

describe('gw serve -c', () => {
  it('applies the files at the start and again on SIGHUP, and ends on SIGTERM as a success', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('gw.yaml', FILE('first'))
    const gateway = served(dir.path, '--gateway-only', '-c', 'gw.yaml')
    expect(await gateway.logged('applied the files')).toMatchObject({ revision: 1, files: ['gw.yaml'] })
    await gateway.logged('serving revision')
    dir.write('gw.yaml', FILE('second'))
    gateway.child.kill('SIGHUP')
    expect(await gateway.logged('reloading')).toMatchObject({ signal: 'SIGHUP' })
    expect(await gateway.logged('applied the files', 2)).toMatchObject({ revision: 2 })
    dir.write('gw.yaml', 'version: 1\nendpoints: [')
    gateway.child.kill('SIGHUP')
    expect(await gateway.logged('cannot apply the files')).toMatchObject({
      level: 'error',
      code: 'GW3001',
      problems: [expect.objectContaining({ code: 'GW1101', file: 'gw.yaml', line: 2 })],
    })
    gateway.child.kill('SIGTERM')
    expect(await gateway.ended).toMatchObject({ exit: 0, signal: null })
  })

  it.each([
    ['alone', []],
    ['with --workers', ['--workers', '1']],
  ])(
    'goes on at a SIGHUP during the start, and applies the files again once it serves: %s',
    async (_, words) => {
      const dir = tempDir(onTestFinished)
      dir.write('gw.yaml', FILE('first'))
      const gateway = served(dir.path, '-c', 'gw.yaml', '--control-listen', '127.0.0.1:0', ...words)
      await gateway.logged('applied the files')
      dir.write('gw.yaml', FILE('second'))
      gateway.child.kill('SIGHUP')
      expect(await gateway.logged('applied the files', 2)).toMatchObject({ revision: 2 })
      if (words.length > 0) await gateway.logged('all workers were replaced')
      gateway.child.kill('SIGTERM')
      expect(await gateway.ended).toMatchObject({ exit: 0, signal: null })
    },
    30_000,
  )

  it('with --workers, each of them says that the files of the supervisor are not served', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('gw.yaml', FILE('first'))
    const flags = ['--log-level', 'error', '-c', 'gw.yaml', '--control-listen', '127.0.0.1:0']
    const child = await start(dir, ['serve', ...LISTEN, ...flags, '--workers', '1'])
    onTestFinished(() => void child.kill('SIGKILL'))
    const url = (await said(child, 'Gateway on ')).slice('Gateway on '.length)
    const reasons = async () =>
      ((await (await fetch(`${url}/health`)).json()) as { reasons: string[] }).reasons
    const isRejected = async () => (await reasons()).some(reason => reason.startsWith('files_rejected: '))
    const rejected = FILE('first').replace('version: 1', 'version: 0')
    for (const [text, is] of [
      [rejected, true],
      [FILE('second'), false],
    ] as const) {
      dir.write('gw.yaml', text)
      child.kill('SIGHUP')
      await expect.poll(isRejected, { timeout: 15_000 }).toBe(is)
    }
  }, 60_000)

  it('does not start over broken files where nothing was applied before: 3, with every problem', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('gw.yaml', 'version: 1\nendpoints: [')
    const { exit, stderr } = await gwProcess(['serve', ...PORTS, '--watch'], { cwd: dir.path })
    expect(exit).toBe(3)
    expect(stderr).toMatch(/gw\.yaml:2:\d+[\s\S]*error GW3001/)
  })
})

describe('gw serve', () => {
  it('with --workers, /health of the control plane says that the workers drain', async () => {
    const { dir, upstream } = await scene()
    const control = ['--control-listen', '127.0.0.1:0', '--log-level', 'error']
    const child = await start(dir, ['serve', ...LISTEN, ...control, '--workers', '1'])
    const ended = once(child, 'exit')
    const urlOf = async (listener: string) => (await said(child, listener)).slice(listener.length)
    const [gatewayUrl, controlUrl] = await Promise.all([urlOf('Gateway on '), urlOf('Control plane on ')])
    const held = gate()
    upstream.answer(async exchange => {
      await held.opened
      await json({ model: 'served' })(exchange)
    })
    const began = fetch(`${gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET}` },
      body: JSON.stringify({ model: 'm', max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] }),
    })
    await upstream.nextRequest()
    expect((await fetch(`${controlUrl}/health`)).status).toBe(200)
    child.kill('SIGTERM')
    await said(child, 'Stopping all workers.')
    const answer = await fetch(`${controlUrl}/health`)
    expect([answer.status, await answer.json()]).toMatchObject([503, { status: 'draining' }])
    held.open()
    expect((await began).status).toBe(200)
    expect(await ended).toEqual([0, null])
  }, 30_000)

  it.each([
    [['-c', '-'], 'stdin can be read only once'],
    [['--watch'], 'No configuration'],
  ])('rejects %j', async (words, reason) => {
    const { exit, stderr } = await gw(['serve', ...PORTS, ...words], { cwd: tempDir(onTestFinished).path })
    expect({ exit, stderr }).toEqual({ exit: 64, stderr: expect.stringContaining(reason) })
  })
})
