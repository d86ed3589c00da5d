import { EventEmitter } from 'node:events'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { keyDigest } from '../../src/base/api-key.ts'
import type { Clock } from '../../src/base/clock.ts'
import { systemClock } from '../../src/base/clock.ts'
import { makeProgram } from '../../src/cli/program.ts'
import { openStore } from '../../src/store/open.ts'
import { joinedNode } from '../support/joined-node.ts'
import { copyFolder, storeOfFolder } from '../support/store-of-folder.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { ON_POSTGRES } from '../support/test-engine.ts'
import { gw, type World } from './in-process.ts'
import { FIRST } from './sample-tree.ts'

/** What every command of `gw` promises. A new one fails here until it is in the table below. */

const clock: Clock = systemClock
const PASSWORD = 'correct horse battery'

/** How each command is run so that it does its work, and so that it fails. `gw.yaml` is applied before. */
interface Way {
  readonly works: string
  /** What is piped in, where it works. */
  readonly stdin?: string
  /** Fails for a reason of its own; absent: it cannot. */
  readonly fails?: string
  /** Serves or watches until it is stopped. */
  readonly stays?: true
  /** Runs from the build, and is stopped when it says that it serves. */
  readonly hasThreads?: true
  /** Its exit code, unless 0. */
  readonly exit?: number
  /** Prints nothing with `--format json` on an empty store. */
  readonly isSilent?: true
  /** Of a store in SQLite alone; another one is rejected. */
  readonly ofFile?: true
  /** Prints a table or lines that fit into 50 columns. */
  readonly narrow?: true
}

const NOWHERE = '--store sqlite:./none/gw.db'
const ADDRESSES = '--listen 127.0.0.1:0 --control-listen 127.0.0.1:0'

const WAYS: Readonly<Record<string, Way>> = {
  init: { works: 'init fresh', fails: 'init config-taken' },
  validate: { works: 'validate', fails: 'validate -c none.yaml' },
  test: { works: 'test policies.test.yaml', fails: 'test none.test.yaml' },
  diff: { works: 'diff', fails: 'diff -c none.yaml' },
  plan: { works: 'plan -o plan.json', fails: 'plan -c none.yaml -o other.json' },
  apply: { works: 'apply --yes --skip-probe', fails: 'apply -c none.yaml' },
  history: { works: 'history', fails: `history ${NOWHERE}`, narrow: true },
  show: { works: 'show 1', fails: 'show 99' },
  rollback: { works: 'rollback 1 --yes', fails: 'rollback 99 --yes' },
  export: { works: 'export', fails: 'export --set none' },
  probe: { works: 'probe slow', exit: 5, fails: 'probe none', narrow: true },
  why: { works: 'why --key app --model chat', fails: 'why --key none --model chat' },
  'keys create': { works: 'keys create trial --tenant blue', fails: 'keys create app --tenant blue' },
  'keys issue': { works: 'keys issue app', fails: 'keys issue none' },
  'keys rotate': { works: 'keys rotate app', fails: 'keys rotate none' },
  'keys list': { works: 'keys list', fails: `keys list ${NOWHERE}`, narrow: true },
  'keys show': { works: 'keys show app', fails: 'keys show none' },
  'keys disable': { works: 'keys disable app', fails: 'keys disable none' },
  'keys enable': { works: 'keys enable app', fails: 'keys enable none' },
  'keys revoke': { works: 'keys revoke app --yes', fails: 'keys revoke none --yes' },
  'keys delete': { works: 'keys delete spare --yes', fails: 'keys delete app --yes' },
  'wallet show': { works: 'wallet show blue', fails: 'wallet show none' },
  'wallet credit': {
    works: 'wallet credit blue 5 --reference a',
    fails: 'wallet credit none 5 --reference a',
  },
  'wallet debit': { works: 'wallet debit blue 5 --reference b', fails: 'wallet debit none 5 --reference b' },
  'wallet adjust': {
    works: 'wallet adjust blue 5 --reference c',
    fails: 'wallet adjust none 5 --reference c',
  },
  'wallet entries': { narrow: true, works: 'wallet entries blue', fails: 'wallet entries none' },
  'ledger archive': {
    works: 'ledger archive --before 2020-01 old.jsonl.gz',
    fails: 'ledger archive --before 2020-13 old.jsonl.gz',
  },
  'ledger archives': { works: 'ledger archives', fails: `ledger archives ${NOWHERE}`, narrow: true },
  usage: { works: 'usage', fails: `usage ${NOWHERE}`, narrow: true },
  logs: { works: 'logs', isSilent: true, fails: `logs ${NOWHERE}`, narrow: true },
  'ledger verify': { works: 'ledger verify', fails: `ledger verify ${NOWHERE}` },
  serve: {
    works: `serve ${ADDRESSES}`,
    fails: `serve ${ADDRESSES} ${NOWHERE}`,
    hasThreads: true,
  },
  restart: { works: 'restart', fails: `restart ${NOWHERE}` },
  status: { works: 'status', fails: `status ${NOWHERE}`, narrow: true },
  top: { works: 'top --count 1 --interval 100ms', fails: `top ${NOWHERE}` },
  backup: { works: 'backup copy.db', ofFile: true, fails: `backup copy.db ${NOWHERE}` },
  restore: { works: `restore data/gw.db --store sqlite:./other.db`, ofFile: true, fails: 'restore none.db' },
  // To do its work it takes a server: test/cli/store-copy.proof.ts.
  'store copy': { works: 'store copy --help', fails: 'store copy sqlite:a.db sqlite:b.db' },
  migrate: { works: 'migrate', fails: 'migrate --store sqlite:gw.yaml' },
  'gateways list': { works: 'gateways list', fails: `gateways list ${NOWHERE}`, narrow: true },
  'gateways forget': { works: 'gateways forget lost --force', fails: 'gateways forget none' },
  'maintenance on': { works: 'maintenance on', fails: `maintenance on ${NOWHERE}` },
  'maintenance off': { works: 'maintenance off', fails: `maintenance off ${NOWHERE}` },
  'maintenance status': { works: 'maintenance status', fails: `maintenance status ${NOWHERE}` },
  'users create': {
    works: 'users create ann --role admin --password -',
    stdin: PASSWORD,
    fails: 'users create ann --role tenant --tenant none --password -',
  },
  'users list': { works: 'users list', fails: `users list ${NOWHERE}`, narrow: true },
  'users disable': { works: 'users disable ada', fails: 'users disable none' },
  'users enable': { works: 'users enable ada', fails: 'users enable none' },
  'users link': { works: 'users link ada', fails: 'users link none' },
  'users reset-password': {
    works: 'users reset-password ada --password -',
    stdin: PASSWORD,
    fails: 'users reset-password none --password -',
  },
  'nodes token': { works: 'nodes token gpu-8', fails: `nodes token gpu-8 ${NOWHERE}` },
  'nodes tokens': { works: 'nodes tokens', fails: `nodes tokens ${NOWHERE}`, narrow: true },
  'nodes revoke-token': { works: 'nodes revoke-token known', fails: 'nodes revoke-token none' },
  'nodes list': { works: 'nodes list', fails: `nodes list ${NOWHERE}`, narrow: true },
  'nodes show': { works: 'nodes show gpu-7', fails: 'nodes show none' },
  'nodes drain': { works: 'nodes drain gpu-7', fails: 'nodes drain none' },
  'nodes uncordon': { works: 'nodes uncordon gpu-7', fails: 'nodes uncordon none' },
  'nodes revoke': { works: 'nodes revoke gpu-7', fails: 'nodes revoke none' },
  // To do their work they take a gateway: test/cli/node.proof.ts.
  'node join': {
    works: 'node join --help',
    fails: 'node join --state node.json --engine http://127.0.0.1:9',
  },
  'node status': { works: 'node status --state node.json' },
  'node leave': { works: 'node leave --help', fails: 'node leave --state node.json' },
  'tokens create': { works: 'tokens create more --user ada', fails: 'tokens create more --user none' },
  'tokens list': { works: 'tokens list', fails: `tokens list ${NOWHERE}`, narrow: true },
  'tokens revoke': { works: 'tokens revoke known', fails: 'tokens revoke none' },
  // To do its work it takes a control plane: test/cli/tokens.test.ts.
  login: { works: 'login --help', fails: 'login --user ada --password - --url http://127.0.0.1:9' },
  logout: { works: 'logout', fails: 'logout --url nowhere' },
  doctor: { works: `doctor ${ADDRESSES}`, fails: 'doctor --listen nowhere', narrow: true },
  'import litellm': { works: 'import litellm litellm.yaml', fails: 'import litellm gw.yaml' },
  explain: { works: 'explain endpoint', fails: 'explain xyzzy', narrow: true },
  schema: { works: 'schema key', fails: 'schema keys' },
  'completion bash': { works: 'completion bash' },
  'completion zsh': { works: 'completion zsh' },
  'completion fish': { works: 'completion fish' },
  'completion names': { works: 'completion names keys', fails: `completion names keys ${NOWHERE}` },
  'demo-upstream': {
    works: 'demo-upstream --listen 127.0.0.1:0',
    fails: 'demo-upstream --listen x',
    stays: true,
  },
}

/** What is missed before anything else is looked at. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  'wallet credit': ['--reference', 'x'],
  'wallet debit': ['--reference', 'x'],
  'wallet adjust': ['--reference', 'x'],
}

function paths(command: Command, lead = ''): readonly string[] {
  return command.commands.flatMap(below => {
    const path = `${lead}${below.name()}`
    return below.commands.length > 0 ? [path, ...paths(below, `${path} `)] : [path]
  })
}

const PROGRAM = await makeProgram(() => async () => undefined, { out: '', err: '' }, undefined)
const ALL = paths(PROGRAM)
const LEAVES = ALL.filter(path => !ALL.some(other => other.startsWith(`${path} `)))

const WORKING = LEAVES.filter(path => !ON_POSTGRES || WAYS[path]?.ofFile !== true)

const template = tempDir(afterAll)

/** Applied once, and copied for each run. */
beforeAll(async () => {
  template.write('gw.yaml', FIRST)
  template.write('policies.test.yaml', 'version: 1\ntests:\n  - { key: app, may_call: chat }\n')
  template.write('config-taken/gw.schema.json', 'mine')
  template.write('litellm.yaml', 'model_list:\n  - model_name: a\n    litellm_params: { model: openai/a }\n')
  const world = { cwd: template.path, clock }
  expect((await gw(['apply', '--yes', '--skip-probe'], world)).exit).toBe(0)
  expect((await gw(['keys', 'create', 'spare', '--tenant', 'blue', '--issue'], world)).exit).toBe(0)
  const store = await openStore(await storeOfFolder(template.path), {
    mode: 'write',
    clock,
    folder: template.path,
  })
  for (const name of ['ada', 'eve'])
    await store.users.createUser({ name, role: 'admin', passwordHash: 'none that fits' })
  const token = { id: 'known', digest: keyDigest('known'), user: 'ada', name: 'known' } as const
  await store.users.createToken({ ...token, scope: 'read', expiresAtMs: clock.nowMs() + 3_600_000 })
  const elsewhere = { pid: 7, host: 'elsewhere', startedAtMs: clock.nowMs() } as const
  await store.reportGateway({ ...elsewhere, id: 'lost', revision: 99, keyVersion: 99 })
  await joinedNode(await storeOfFolder(template.path), 'gpu-7')
  const join = { id: 'known', digest: keyDigest('join'), pattern: 'gpu-9', labels: {}, uses: 1 }
  await store.nodes.createJoinToken({ ...join, expiresAtMs: clock.nowMs() + 3_600_000 })
  await store.close()
})

/** A folder in which each of them can do its work. */
async function prepared(): Promise<TempDir> {
  const dir = tempDir(onTestFinished)
  await copyFolder(template.path, dir.path)
  return dir
}

const words = (line: string, ...more: readonly string[]) => [...line.split(' '), ...more]

/** Long enough to say where it listens. */
const SERVED_MS = 500

function clearTimer(timer: NodeJS.Timeout): () => void {
  return () => clearTimeout(timer)
}

/** Ends soon, where a command stays. */
function ending(way: Way): Pick<World, 'signals' | 'onTalk' | 'isBuilt'> {
  const signals = new EventEmitter()
  if (way.hasThreads) {
    const onTalk = (text: string) => void (text.includes('Serving') && signals.emit('SIGINT'))
    return { signals, onTalk, isBuilt: true }
  }
  if (way.stays) onTestFinished(clearTimer(setTimeout(() => signals.emit('SIGINT'), SERVED_MS)))
  return { signals }
}

async function works(path: string, more: readonly string[] = [], terminal?: number) {
  const way = WAYS[path]
  if (!way) throw new Error(`no way to run ${path}`)
  const dir = await prepared()
  return gw(words(way.works, ...more), {
    cwd: dir.path,
    clock,
    environment: { FAST_KEY: 'a-secret-of-the-vendor', GW_LOGIN_FILE: dir.at('login.json') },
    ...(way.stdin !== undefined && { stdin: way.stdin }),
    ...(terminal !== undefined && { terminal }),
    ...ending(way),
  })
}

/** One document, or one a line. */
function parsed(stdout: string): readonly Record<string, unknown>[] {
  if (stdout === '') return []
  try {
    return [JSON.parse(stdout) as Record<string, unknown>]
  } catch {
    return stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as Record<string, unknown>)
  }
}

describe('the table', () => {
  it('has every command', () => {
    expect(Object.keys(WAYS).toSorted()).toEqual(LEAVES.toSorted())
  })

  it('runs each command itself', () => {
    const others = Object.entries(WAYS).filter(([path, { works }]) => !`${works} `.startsWith(`${path} `))
    expect(others).toEqual([])
  })
})

describe.each(ALL)('gw %s', path => {
  it('has help that leads with an example of itself, within 100 columns', async () => {
    const { exit, stdout, stderr } = await gw([...path.split(' '), '--help'], { cwd: '/' })
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    const [lead, example] = stdout.split('\n')
    expect(lead).toMatch(/^Examples?:$/)
    expect(example).toContain(`gw ${path}`)
    expect(stdout).not.toContain('\u001B')
    const options = stdout.slice(stdout.indexOf('\nOptions:'))
    for (const line of options.split('\n')) expect(line.length).toBeLessThanOrEqual(120)
  })

  it('suggests the flag that was probably meant, as text and as JSON', async () => {
    const typed = [...path.split(' '), ...(REQUIRED[path] ?? []), '--hlep']
    const text = await gw(typed, { cwd: '/' })
    expect({ exit: text.exit, stdout: text.stdout }).toEqual({ exit: 64, stdout: '' })
    expect(text.stderr).toContain('Did you mean --help?')
    const json = await gw([...typed, '--format', 'json'], { cwd: '/' })
    expect({ exit: json.exit, stderr: json.stderr }).toEqual({ exit: 64, stderr: '' })
    expect(JSON.parse(json.stdout)).toMatchObject({
      error: { code: 'GW6001', hint: expect.stringContaining('--help') },
    })
  })
})

describe.each(WORKING)('gw %s', path => {
  const way = WAYS[path] ?? { works: '' }

  it('answers in JSON where it works, and in nothing else', async () => {
    const { exit, stdout } = await works(path, ['--format', 'json'])
    expect(exit).toBe(way.exit ?? 0)
    const documents = parsed(stdout)
    expect(documents.length > 0).toBe(way.isSilent !== true)
    for (const document of documents) expect(document).not.toHaveProperty('error')
    expect(stdout).not.toContain('\u001B')
    expect(stdout).not.toContain('a-secret-of-the-vendor')
  })

  it('answers in JSON when it is interrupted at once', async () => {
    const dir = await prepared()
    const signals = new EventEmitter()
    signals.on('newListener', (name: string) => {
      if (name === 'SIGINT') queueMicrotask(() => signals.emit('SIGINT'))
    })
    const { exit, stdout } = await gw(words(way.works, '--format', 'json'), {
      cwd: dir.path,
      clock,
      environment: { FAST_KEY: 'a-secret-of-the-vendor' },
      signals,
      ...(way.hasThreads && { isBuilt: true }),
      ...(way.stdin !== undefined && { stdin: way.stdin }),
    })
    expect([0, 5, 130]).toContain(exit)
    if (exit === 130) expect(parsed(stdout).at(-1)).toMatchObject({ error: { code: 'GW9002' } })
    else parsed(stdout)
  })

  it('prints no colours in a pipe', async () => {
    const { stdout, stderr } = await works(path)
    expect(stdout + stderr).not.toContain('\u001B')
  })
})

describe('a failure', () => {
  it.each(LEAVES.filter(path => WAYS[path]?.fails))(
    'of gw %s says in JSON why, and what to do',
    async path => {
      const fails = WAYS[path]?.fails ?? ''
      const dir = await prepared()
      const world: World = { cwd: dir.path, clock, stdin: PASSWORD }
      const json = await gw(words(fails, '--format', 'json'), world)
      expect(json.exit).not.toBe(0)
      const [document] = parsed(json.stdout).slice(-1)
      expect(document).toMatchObject({
        error: { code: expect.stringMatching(/^GW\d{4}$/), message: expect.stringMatching(/.\.$/s) },
      })
      const hint = String((document as { error?: { hint?: string } } | undefined)?.error?.hint)
      expect(hint.length).toBeGreaterThan(5)
      const text = await gw(words(fails), world)
      expect(text.exit).toBe(json.exit)
      expect(text.stderr).toContain('hint: ')
    },
  )
})

describe('50 columns', () => {
  it.each(LEAVES.filter(path => WAYS[path]?.narrow))('are enough for gw %s', async path => {
    const { stdout } = await works(path, ['--color', 'never'], 50)
    for (const line of stdout.split('\n')) {
      expect({ line, fits: line.length <= 50 }).toEqual({ line, fits: true })
    }
  })
})

describe('NO_COLOR', () => {
  it.each(LEAVES.filter(path => !WAYS[path]?.stays && path !== 'top'))(
    'is obeyed by gw %s on a terminal',
    async path => {
      const dir = await prepared()
      const way = WAYS[path]
      const { stdout, stderr } = await gw(words(way?.works ?? '', '--no-input'), {
        cwd: dir.path,
        clock,
        terminal: 80,
        environment: { NO_COLOR: '1', FAST_KEY: 'x' },
        ...(way?.stdin !== undefined && { stdin: way.stdin }),
        ...(way && ending(way)),
      })
      // Progress is written over with "erase the line", which is no colour.
      expect((stdout + stderr).replaceAll('\u001B[2K', '')).not.toContain('\u001B[')
    },
  )
})
