import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { json } from './support/answers.ts'
import { freePort } from './support/free-port.ts'
import { type ScriptedUpstream, scriptedUpstream } from './support/scripted-upstream.ts'
import { type TempDir, tempDir } from './support/temp-dir.ts'

/**
 * README as a new user follows it: every block of shell, word for word and in its order, each section in an empty
 * folder of its own. What differs from the machine of a user stands in `COMMANDS`: ports that are free here, the
 * address of the vendor, and npm, which would need its registry.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const PORTS = { GATEWAY: 8090, CONTROL: 8080, DEMO: 9101 } as const

/** The `gw` and the `npm` of these terminals. */
const COMMANDS = {
  gw: `#!/usr/bin/env bash
run() { "$NODE" "$ROOT/bin/gw.js" "$@"; }
case "$1" in
  serve) exec "$NODE" "$ROOT/bin/gw.js" "$@" --listen "127.0.0.1:$GATEWAY" --control-listen "127.0.0.1:$CONTROL" ;;
  demo-upstream) exec "$NODE" "$ROOT/bin/gw.js" "$@" --listen "127.0.0.1:$DEMO" ;;
  init)
    case "$*" in *--vendor*) set -- "$@" --base-url "$VENDOR" ;; esac
    run "$@" && sed -i.made "s/127.0.0.1:9101/127.0.0.1:$DEMO/" "$2/config/gateway.yaml" && rm "$2/config/gateway.yaml.made" ;;
  *) run "$@" ;;
esac
`,
  npm: `#!/usr/bin/env bash
case "$*" in
  ci) test -f "$ROOT/package-lock.json" ;;
  start) cd "$ROOT" && exec "$NODE" scripts/start.mjs --listen "127.0.0.1:$GATEWAY" \\
    --control-listen "127.0.0.1:$CONTROL" --demo-listen "127.0.0.1:$DEMO" ;;
  'run build') test -f "$ROOT/dist/bundle/main.js" ;;
  link) grep -q '"gw": "bin/gw.js"' "$ROOT/package.json" ;;
  *) echo "npm $*: not in this test" >&2; exit 1 ;;
esac
`,
}

/** What says that a block has started a server, which stays while the next ones run. */
const READY: readonly (readonly [command: RegExp, said: string])[] = [
  [/^gw demo-upstream\b/m, 'Demo upstream'],
  [/\bgw serve\b/m, 'Serving revision'],
  [/\bnpm start\b/m, 'Ctrl-C stops everything.'],
]

const blocksOf = (text: string) => [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block ?? '')

/** By heading; what stands before the first one is `start`. */
const SECTIONS: ReadonlyMap<string, readonly string[]> = new Map(
  README.split(/^## /m).map((section, at) => [
    at === 0 ? 'start' : section.slice(0, section.indexOf('\n')),
    blocksOf(section),
  ]),
)

interface Followed {
  readonly dir: TempDir
  /** What the blocks printed that are over, one after the other. */
  readonly printed: string
  /** What the servers said until they were ready. */
  readonly said: string
  /** Runs one more line in the terminal of the blocks, and gives what it prints. */
  readonly run: (line: string) => Promise<string>
  readonly vendor: ScriptedUpstream
  readonly health: () => Promise<unknown>
}

/** Runs each block of a section. @throws where one fails, with all that was said. */
async function follow(heading: string): Promise<Followed> {
  const dir = tempDir(onTestFinished)
  const commands = tempDir(onTestFinished)
  for (const [name, text] of Object.entries(COMMANDS)) {
    commands.write(name, text)
    chmodSync(commands.at(name), 0o755)
  }
  const vendor = await scriptedUpstream(onTestFinished)
  const free = Object.fromEntries(
    await Promise.all(Object.keys(PORTS).map(async name => [name, String(await freePort())])),
  ) as Record<keyof typeof PORTS, string>
  const env = {
    ...free,
    PATH: `${commands.path}:${process.env['PATH']}`,
    HOME: commands.path,
    NODE: process.execPath,
    ROOT,
    VENDOR: `${vendor.url}/v1`,
    // `npm start` keeps its store in the checkout: not in this one.
    ...(heading === 'start' && { GW_STORE: `sqlite:${commands.at('gw.db')}` }),
  }
  const moved = (text: string) =>
    Object.entries(PORTS).reduce(
      (moving, [name, port]) =>
        moving.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${free[name as keyof typeof PORTS]}`),
      text,
    )
  vendor.answer(
    json({
      id: 'c',
      object: 'chat.completion',
      model: 'gpt-4o-mini',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    }),
  )
  const terminal = openTerminal(dir.path, env)
  let printed = ''
  let said = ''
  for (const [at, block] of (SECTIONS.get(heading) ?? []).entries()) {
    const file = commands.at(`block-${at}.sh`)
    commands.write(`block-${at}.sh`, moved(block))
    const ready = READY.find(([command]) => command.test(block))
    if (ready === undefined) printed += await terminal.run(file)
    else said += await openTerminal(dir.path, env).stay(file, ready[1])
  }
  return {
    dir,
    printed,
    said,
    run: async line => {
      commands.write('line.sh', line)
      return terminal.run(commands.at('line.sh'))
    },
    vendor,
    health: async () => (await fetch(`http://127.0.0.1:${free.GATEWAY}/health`)).json(),
  }
}

/** A shell of its own, as a terminal has; the variables and the folder of one block are there in the next. */
function openTerminal(cwd: string, env: Readonly<Record<string, string | undefined>>) {
  const child: ChildProcess = spawn('bash', ['-s'], { cwd, env, stdio: 'pipe', detached: true })
  let said = ''
  let out = ''
  const heard = new Set<() => void>()
  const hear = () => {
    for (const each of heard) each()
  }
  child.stdout?.on('data', (chunk: Buffer) => {
    out += chunk.toString()
    said += chunk.toString()
    hear()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString()
    hear()
  })
  const ended = new Promise(resolve => child.once('close', resolve)).then(hear)
  onTestFinished(async () => {
    // The shell and what it runs: a group of its own, as a terminal would end it.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM')
    await ended
  })
  const until = (isSo: () => boolean) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        const over = child.exitCode !== null || child.signalCode !== null
        if (!isSo() && !over) return
        heard.delete(look)
        if (isSo()) resolve()
        else reject(new Error(said))
      }
      heard.add(look)
      look()
    })
  return {
    /** @returns what it printed on stdout. */
    async run(file: string): Promise<string> {
      const mark = `-- over: ${file} --`
      out = ''
      child.stdin?.write(`set -eo pipefail\n. '${file}' < /dev/null\necho '${mark}'\n`)
      await until(() => out.includes(mark))
      return out.slice(0, out.indexOf(mark))
    },
    /** @returns what it said until it was ready. */
    async stay(file: string, ready: string): Promise<string> {
      child.stdin?.write(`set -eo pipefail\n. '${file}' < /dev/null\nexit\n`)
      await until(() => said.includes(ready))
      return said
    },
  }
}

const FOLLOWED = ['start', 'Your own vendor', 'From an empty folder', 'Change it safely', 'Over REST']

test('each section of README that has shell in it is followed here', () => {
  expect([...SECTIONS].filter(([, blocks]) => blocks.length > 0).map(([heading]) => heading)).toEqual(
    FOLLOWED,
  )
})

describe('README, word for word, each section in an empty folder', () => {
  test('`npm ci && npm start` prints a key, and curl lines that work', async () => {
    const [block = ''] = SECTIONS.get('start') ?? []
    expect(block).toBe('npm ci && npm start\n')
    const { said, run, health } = await follow('start')
    const lines = said.split('\n').flatMap(line => (line.startsWith('  curl ') ? [line] : []))
    const answers: string[] = []
    for (const line of lines) answers.push(await run(line))
    expect(answers).toEqual([
      expect.stringContaining('"object":"chat.completion"'),
      expect.stringContaining('data: [DONE]'),
      expect.stringContaining('"type":"message"'),
    ])
    expect(await health()).toMatchObject({ status: 'ok' })
  })

  test('a vendor of one’s own answers the first call, and sees the key that was exported', async () => {
    const { dir, printed, vendor, health } = await follow('Your own vendor')
    expect(printed).toContain('2 tests: 2 passed, 0 failed.')
    expect(JSON.parse(printed.trim().split('\n').at(-1) ?? '')).toMatchObject({
      object: 'chat.completion',
      model: 'gpt-4o-mini',
      choices: [{ message: { content: 'Hi!' } }],
    })
    expect(vendor.requests.map(({ method, target }) => `${method} ${target}`)).toEqual([
      'POST /v1/chat/completions', // of the probe
      'POST /v1/chat/completions',
    ])
    for (const request of vendor.requests)
      expect(request.header('authorization')).toBe('Bearer sk-your-own-key')
    expect(readFileSync(dir.at('my-gateway/config/gateway.yaml'), 'utf8')).toContain('price: { input: "0.15"')
    expect(await health()).toMatchObject({ status: 'ok', revision: 1 })
  })

  test('an empty folder becomes a gateway that answers, without an account', async () => {
    const { dir, printed, health } = await follow('From an empty folder')
    expect(printed).toContain('3 tests: 3 passed, 0 failed.')
    expect(printed).toContain('"object":"chat.completion"')
    expect(printed).toMatch(/ 200 {2}chat {2}my-app /)
    expect(readdirSync(dir.path)).toEqual(['my-gateway'])
    expect(readdirSync(dir.at('my-gateway'))).not.toContain('gw.yaml')
    expect(await health()).toMatchObject({ status: 'ok' })
  })

  test('a change is planned, applied, shown and rolled back', async () => {
    const { printed } = await follow('Change it safely')
    expect(printed).toContain('+ publication small')
    expect(printed).toMatch(/- publication small/)
  })

  test('what is made over REST ends with an embedding', async () => {
    const { printed, health } = await follow('Over REST')
    const answers = printed
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as Record<string, unknown>)
    expect(answers.map(({ name, code, object }) => name ?? code ?? object)).toEqual([
      'embedder',
      'text-embedding',
      undefined,
      'acme',
      'acme-search',
      'list',
    ])
    expect(answers[0]).toMatchObject({ skip_probe: true, upstream_key: { stored: true } })
    expect(answers[5]).toMatchObject({ model: 'text-embedding', data: [{ object: 'embedding' }] })
    expect(await health()).toMatchObject({ status: 'ok' })
  })
})
