import { EventEmitter } from 'node:events'
import { existsSync } from 'node:fs'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { json, silence } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { type Answer, type ScriptedUpstream, scriptedUpstream } from '../support/scripted-upstream.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { gw, type World } from './in-process.ts'

const SECRET = 'sk-canary-0123456789abcdefghij'
const CHAT = { choices: [] }

let dir: TempDir
let upstream: ScriptedUpstream

const run = (line: string, world: Omit<World, 'cwd'> = {}) =>
  gw(line.split(' '), { cwd: dir.path, environment: { UP_KEY: SECRET }, ...world })

/** What was asked, in a settled order. */
const asked = () => upstream.requests.map(request => `${request.method} ${request.target}`).sort()

beforeEach(async () => {
  dir = tempDir(onTestFinished)
  upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(answers({}))
  dir.write('gw.yaml', config())
})

/** An upstream with one chat at `/v1`, unless a model is answered otherwise. */
function answers(byModel: Readonly<Record<string, Answer>>): Answer {
  return exchange => {
    const { request } = exchange
    if (request.target === '/v1/models') return json({ data: [{ id: 'listed' }] })(exchange)
    if (request.target !== '/v1/chat/completions')
      return json({ detail: 'Not Found' }, { status: 404 })(exchange)
    const { model } = request.json() as { readonly model: string }
    return (byModel[model] ?? json(CHAT))(exchange)
  }
}

function config(more = ''): string {
  return `version: 1
endpoints:
  fast: { protocol: openai, base_url: "${upstream.url}/v1", served_model: fast-1, upstream_key: { env: UP_KEY } }
  off: { protocol: openai, base_url: "${upstream.url}/v1", served_model: off-1, enabled: false }
  shy: { protocol: openai, base_url: "${upstream.url}/v1", served_model: shy-1, skip_probe: true }
${more}`
}

const BROKEN = () => `  lost: { protocol: openai, base_url: "${upstream.url}", served_model: lost-1 }
  down: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: down-1 }
  bare: { protocol: openai, base_url: "${upstream.url}/v1", served_model: bare-1, upstream_key: { env: UNSET_KEY } }
`

describe('gw probe', () => {
  it('shows who answers and who is skipped, and asks no one else', async () => {
    const { exit, stdout, stderr } = await run('probe -c gw.yaml')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    await expect(stdout).toMatchFileSnapshot('golden/probe.txt')
    expect(asked()).toEqual(['POST /v1/chat/completions'])
    expect(upstream.lastRequest.header('authorization')).toBe(`Bearer ${SECRET}`)
  })

  it('shows the cause and the hint of each failure, the verdict last, and exits 5', async () => {
    dir.write('gw.yaml', config(BROKEN()))
    const { exit, stdout, stderr } = await run('probe -c gw.yaml')
    expect(exit).toBe(5)
    await expect(stdout.replaceAll(String(upstream.port), 'PORT')).toMatchFileSnapshot(
      'golden/probe-failed.txt',
    )
    expect(stderr).toBe('error GW5001: 3 probes of 6 failed.\n  hint: Correct the causes listed above.\n')
  })

  it('tells programs the same as one JSON document, with the same exit code', async () => {
    dir.write('gw.yaml', config(BROKEN()))
    const { exit, stdout, stderr } = await run('probe -c gw.yaml --format json')
    expect({ exit, stderr }).toEqual({ exit: 5, stderr: '' })
    await expect(stdout.replaceAll(String(upstream.port), 'PORT')).toMatchFileSnapshot(
      'golden/probe-failed.json.txt',
    )
  })

  it('finds the paths, once an endpoint, and shows the line to write', async () => {
    const models =
      '  a: { bindings: [{ endpoint: fast }] }\n  b: { bindings: [{ endpoint: fast, served_model: fast-2 }] }'
    dir.write('gw.yaml', `${config()}publications:\n${models}\n`)
    upstream.answer(exchange =>
      exchange.request.target === '/v1/embeddings'
        ? json({ error: { message: 'empty' } }, { status: 400 })(exchange)
        : answers({})(exchange),
    )
    const { exit, stdout } = await run('probe fast -c gw.yaml --paths')
    expect(exit).toBe(0)
    expect(stdout).toMatch(
      /^fast serves 2 of \d+ paths of openai\n {2}paths: \[\/v1\/chat\/completions, \/v1\/embeddings\]$/m,
    )
    const { probes } = JSON.parse((await run('probe fast -c gw.yaml --paths --format json')).stdout)
    expect(probes).toMatchObject([
      { state: 'ok', paths: ['/v1/chat/completions', '/v1/embeddings'] },
      { state: 'ok' },
    ])
    expect(probes[1]).not.toHaveProperty('paths')
    upstream.answer(json({ choices: [] }))
    expect((await run('probe fast -c gw.yaml --paths')).stdout).toContain('serves every path of openai')
  })

  it('probes what is in the store where no files are named', async () => {
    const { exit, stderr } = await run('probe')
    expect(exit).toBe(4)
    expect(stderr).toContain('-c PATH')
    await run('apply --yes --skip-probe')
    dir.write('gw.yaml', config(BROKEN()))
    expect((await run('probe')).exit).toBe(0)
  })

  it('probes those that are named, and lists a skipped one without asking it', async () => {
    dir.write('gw.yaml', config(BROKEN()))
    const { exit, stdout } = await run('probe fast shy -c gw.yaml --format json')
    expect(exit).toBe(0)
    expect(JSON.parse(stdout).probes.map(({ endpoint }: { endpoint: string }) => endpoint)).toEqual([
      'fast',
      'shy',
    ])
  })

  it('probes a disabled one only where it is named', async () => {
    const { exit, stdout } = await run('probe off -c gw.yaml --format json')
    expect(exit).toBe(0)
    expect(JSON.parse(stdout).probes).toMatchObject([{ endpoint: 'off', state: 'ok', by: 'chat' }])
    expect(asked()).toEqual(['POST /v1/chat/completions'])
  })

  it('rejects a name that there is not, with the one that was meant', async () => {
    const { exit, stderr } = await run('probe fest -c gw.yaml')
    expect(exit).toBe(4)
    expect(stderr).toContain('error GW4005: There is no endpoint fest.')
    expect(stderr).toContain('Did you mean fast?')
    expect(upstream.requests).toHaveLength(0)
  })

  it('chats once with an endpoint, and with another of its models only where that is not listed', async () => {
    const bindings = '[{ endpoint: fast, served_model: listed }]'
    dir.write(
      'gw.yaml',
      config(`publications:
  a: { bindings: [{ endpoint: fast }] }
  b: { bindings: ${bindings} }
  c: { bindings: [{ endpoint: fast, served_model: alias }] }
`),
    )
    const { stdout } = await run('probe fast -c gw.yaml --format json')
    expect(JSON.parse(stdout).probes).toMatchObject([
      { model: 'fast-1', by: 'chat' },
      { model: 'listed', by: 'listed' },
      { model: 'alias', by: 'chat' },
    ])
    expect(asked()).toEqual(['GET /v1/models', 'POST /v1/chat/completions', 'POST /v1/chat/completions'])
  })

  it('asks sixteen at a time, and all in the end', async () => {
    const door = gate()
    let most = 0
    let open = 0
    upstream.answer(async exchange => {
      most = Math.max(most, ++open)
      if (open === 16) void turns(500).then(() => door.open()) // one more would come meanwhile
      await door.opened
      open--
      await json(CHAT)(exchange)
    })
    const many = Array.from(
      { length: 40 },
      (_, at) => `  e${at}: { protocol: openai, base_url: "${upstream.url}/v1", served_model: m }\n`,
    )
    dir.write('gw.yaml', `version: 1\nendpoints:\n${many.join('')}`)
    const { exit, stdout } = await run('probe -c gw.yaml')
    expect(exit).toBe(0)
    expect(stdout).toContain('40 probes: 40 ok, 0 failed, 0 skipped')
    expect(most).toBe(16)
  })

  it('shows its progress on a terminal, and takes it away', async () => {
    const { stderr } = await run('probe -c gw.yaml', { terminal: 100 })
    expect(stderr).toBe('\r\u001B[2Kprobing: 0 of 1\r\u001B[2K')
  })

  it('ends at a signal: exit 130, and the upstream is hung up on', async () => {
    upstream.answer(silence)
    const signals = new EventEmitter()
    const ended = run('probe -c gw.yaml', { signals })
    const request = await upstream.nextRequest()
    signals.emit('SIGINT')
    expect((await ended).exit).toBe(130)
    await request.gone
  })

  it.each(['0s', 'soon'])('rejects a time-out of %s', async text => {
    expect((await run(`probe -c gw.yaml --timeout ${text}`)).exit).toBe(64)
  })

  it('sends no credential to a host that only stdin names', async () => {
    const { exit, stdout } = await run('probe -c -', { stdin: config() })
    expect(exit).toBe(5)
    expect(stdout).toContain('a configuration from stdin cannot change that')
    expect(upstream.connectionsMade).toBe(0)
    await run('apply --yes --skip-probe')
    expect((await run('probe -c -', { stdin: config() })).exit).toBe(0)
  })
})

describe('gw apply', () => {
  it('probes what is new and changed before it writes, and not what stays', async () => {
    const { exit, stdout } = await run('apply --yes')
    expect(exit).toBe(0)
    expect(stdout).toMatch(/1 probe: all ok\.\nApplied: revision 1\.\n$/)
    expect(asked()).toEqual(['POST /v1/chat/completions'])
    dir.write('gw.yaml', config('tenants: { blue: {} }\n'))
    expect((await run('apply --yes')).stdout).not.toContain('probe')
    expect(asked()).toHaveLength(1)
  })

  it('writes nothing where a probe fails: exit 5, and how to go on', async () => {
    dir.write('gw.yaml', config(BROKEN()))
    const { exit, stderr } = await run('apply --yes')
    expect(exit).toBe(5)
    expect(stderr).toContain('The endpoint down (down-1): Nothing listens at 127.0.0.1:9')
    expect(stderr).toContain('--skip-probe')
    expect(existsSync(dir.at('data'))).toBe(false)
    expect((await run('apply --yes --skip-probe')).exit).toBe(0)
  })

  it('fails in JSON as one document', async () => {
    dir.write('gw.yaml', config(BROKEN()))
    const { exit, stdout, stderr } = await run('apply --yes --format json')
    expect({ exit, stderr }).toEqual({ exit: 5, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({
      error: {
        code: 'GW5001',
        failures: [
          { endpoint: 'bare', model: 'bare-1' },
          { endpoint: 'down', model: 'down-1' },
          { endpoint: 'lost', model: 'lost-1' },
        ],
      },
    })
  })

  it('probes before the question, and asks none where a probe fails', async () => {
    const answered = await run('apply', { terminal: 100, stdin: 'y\n' })
    expect(answered.stdout).toContain('Applied: revision 1.')
    dir.write('gw.yaml', config(BROKEN()))
    const { exit, stderr } = await run('apply', { terminal: 100 })
    expect(exit).toBe(5)
    expect(stderr).not.toContain('[y/N]')
  })

  it('probes nothing where no answer is possible, with --dry-run, and for gw diff', async () => {
    expect((await run('apply')).exit).toBe(4)
    expect((await run('apply --dry-run')).exit).toBe(0)
    expect((await run('diff')).exit).toBe(0)
    expect(upstream.connectionsMade).toBe(0)
  })

  it('has the secret in no output, whatever the upstream repeats', async () => {
    const message = `model ${SECRET} not found for Bearer ${SECRET}`
    const echo = json({ error: { message, type: 'x', code: SECRET } }, { status: 400 })
    upstream.answer(answers({ 'fast-1': echo }))
    for (const line of [
      'probe -c gw.yaml',
      'probe -c gw.yaml --format json',
      'apply --yes',
      'apply --yes --format json',
    ]) {
      const { exit, stdout, stderr } = await run(line)
      expect(exit).toBe(5)
      expect(stdout + stderr).not.toContain('canary')
    }
  })
})

/** Lets the event loop turn. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => void setImmediate(resolve))
}
