import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { shell } from './cli/process.ts'
import { freePort } from './support/free-port.ts'
import { tempDir } from './support/temp-dir.ts'

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const GW = fileURLToPath(new URL('../bin/gw.js', import.meta.url))

/** The blocks of shell below a heading, in order. */
function blocks(heading: string): readonly string[] {
  const [, section = ''] = README.split(`\n## ${heading}\n`)
  return [...(section.split('\n## ', 1)[0] ?? '').matchAll(/^```sh\n(.*?)^```$/gms)].map(
    ([, text]) => text ?? '',
  )
}

/** Starts what would have a terminal of its own; resolves once it has said `ready`. */
async function start(lines: string, ready: string, cwd: string): Promise<void> {
  const command = `gw() { "$NODE" "$GW" "$@"; }; ${lines}`
  const env = { PATH: process.env['PATH'], HOME: cwd, NODE: process.execPath, GW }
  const child = spawn('bash', ['-c', command], { cwd, env, stdio: 'pipe', detached: true })
  const ended = new Promise(resolve => child.once('close', resolve))
  onTestFinished(async () => {
    // The shell and what it runs: a group of its own, as a terminal would end it.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM')
    await ended
  })
  let said = ''
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        said += chunk.toString()
        if (said.includes(ready)) resolve()
      })
    child.once('close', () => reject(new Error(said)))
  })
}

test('what README does over REST ends with an embedding, word for word but for the ports', async () => {
  const dir = tempDir(onTestFinished)
  const [serving = '', calling = '', ...more] = blocks('Over REST')
  expect(more).toEqual([])
  const ports = [9101, 8080, 8090]
  const free = await Promise.all(ports.map(freePort))
  const moved = (text: string) =>
    ports.reduce((moving, port, at) => moving.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${free[at]}`), text)
  const listen = moved('--listen 127.0.0.1:8090 --control-listen 127.0.0.1:8080')
  await Promise.all([
    start(moved('gw demo-upstream --listen 127.0.0.1:9101'), 'Demo upstream', dir.path),
    start(serving.replace('gw serve', `gw serve ${listen}`), 'Serving revision', dir.path),
  ])
  const { stdout, stderr, exit } = await shell(moved(calling), { cwd: dir.path })
  const answers = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)
  expect([exit, answers.map(({ name, code, object }) => name ?? code ?? object)], stderr).toEqual([
    0,
    ['embedder', 'text-embedding', undefined, 'acme', 'acme-search', 'list'],
  ])
  expect(answers[0]).toMatchObject({ skip_probe: true, upstream_key: { stored: true } })
  expect(answers[5]).toMatchObject({ model: 'text-embedding', data: [{ object: 'embedding' }] })
  const pages = await fetch(moved('http://127.0.0.1:8080/docs'))
  expect(pages.status).toBe(200)
})
