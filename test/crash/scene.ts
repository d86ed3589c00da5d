import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { type ScriptedUpstream, scriptedUpstream } from '../support/scripted-upstream.ts'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import type { Seen } from './clients.ts'

export const THIS_GW = fileURLToPath(new URL('../../bin/gw.js', import.meta.url))
/** `GW_PROGRAM` is that of another version, such as the last release: see `workers.proof.ts`. */
export const GW = process.env['GW_PROGRAM'] ?? THIS_GW
export const SECRET = 'sk-a-secret-of-their-own-0123456789'
/** Secrets of further keys. */
export const OTHER_KEYS = Object.fromEntries(
  ['QUOTA', 'BUDGET', 'RATE', 'PERMITS', 'PAID'].map(name => [
    `${name}_KEY`,
    `sk-${name.toLowerCase()}-of-their-own-0123456789`,
  ]),
)
export const PATH = '/v1/chat/completions'
/** 100 tokens in and 20 out, at 1 and 10 for a million. */
export const EXACT_NANO = 300_000n
export const USAGE = { prompt_tokens: 100, completion_tokens: 20 }
export const EVENTS = [
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'word ' } }] })}\n\n`,
  `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\n`,
  'data: [DONE]\n\n',
] as const

/** A store with one model of one upstream, and the real command over it. */
export interface Scene {
  readonly dir: TempDir
  readonly upstream: ScriptedUpstream
  /** The path of the file of the store, or the URL of its database. */
  readonly path: string
  readonly serve: (...flags: string[]) => Promise<{ child: ChildProcess; url: string }>
  /** With further variables in its environment. */
  readonly serveWith: (
    environment: Readonly<Record<string, string>>,
    ...flags: string[]
  ) => Promise<{ child: ChildProcess; url: string }>
  /** Runs a command on the store. */
  readonly run: (argv: readonly string[]) => ReturnType<typeof gw>
}

const ONE_MODEL = (upstreamUrl: string): string => `
version: 1
endpoints: { oai: { protocol: openai, base_url: "${upstreamUrl}/v1", served_model: served, skip_probe: true } }
publications: { m: { price: { input: "1", output: "10" }, bindings: [{ endpoint: oai }] } }
tenants: { acme: {} }
keys: { app: { kind: tenant, tenant: acme, secret: { env: APP_KEY }, quota: 9000000000000 } }
`

/**
 * @param config Of an upstream's URL; its key has the secret {@link SECRET} in `APP_KEY`.
 * @param storeUrl Absent: a file.
 */
export async function scene(config = ONE_MODEL, storeUrl?: string): Promise<Scene> {
  const dir = tempDir(onTestFinished)
  const upstream = await scriptedUpstream(onTestFinished)
  dir.write('gw.yaml', config(upstream.url))
  const store = storeUrl === undefined ? [] : ['--store', storeUrl]
  const run = (argv: readonly string[]) => gw(dir, [...argv, ...store])
  expect(await run(['apply', '--yes', '--skip-probe'])).toMatchObject({ exit: 0 })
  const serveWith = async (environment: Readonly<Record<string, string>>, ...flags: string[]) => {
    const child = await startWith(environment, dir, [
      'serve',
      '--gateway-only',
      '--listen',
      '127.0.0.1:0',
      '--log-level',
      'error',
      ...store,
      ...flags,
    ])
    const line = await said(child, 'Gateway on ')
    await said(child, 'Serving revision')
    return { child, url: line.slice('Gateway on '.length) }
  }
  const serve = (...flags: string[]) => serveWith({}, ...flags)
  const path = (await storeOfFolder(dir.path)).replace(/^sqlite:/, '')
  return { dir, upstream, path, serve, serveWith, run }
}

/** The environment of a command in the folder of a scene. */
export async function environmentOf(dir: TempDir): Promise<Readonly<Record<string, string | undefined>>> {
  return {
    PATH: process.env['PATH'],
    HOME: dir.path,
    APP_KEY: SECRET,
    ...OTHER_KEYS,
    GW_STORE: await storeOfFolder(dir.path),
  }
}

export function start(dir: TempDir, argv: readonly string[]): Promise<ChildProcess> {
  return startWith({}, dir, argv)
}

async function startWith(
  environment: Readonly<Record<string, string>>,
  dir: TempDir,
  argv: readonly string[],
  program = GW,
): Promise<ChildProcess> {
  const child = spawn(process.execPath, [program, ...argv], {
    cwd: dir.path,
    env: { ...(await environmentOf(dir)), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdout?.resume()
  return child
}

export async function gw(
  dir: TempDir,
  argv: readonly string[],
  program = GW,
): Promise<{ exit: unknown; stdout: string }> {
  const child = await startWith({}, dir, argv, program)
  let stdout = ''
  child.stdout?.on('data', (piece: Buffer) => {
    stdout += piece.toString()
  })
  const [exit] = (await once(child, 'close')) as [number | null]
  return { exit, stdout }
}

const heard = new WeakMap<ChildProcess, { text: string; look: Set<() => void> }>()

/** Everything on stderr, since {@link said} was asked for. */
export function textOf(child: ChildProcess): string {
  return heard.get(child)?.text ?? ''
}

/** The first line on stderr that begins like this, whenever it came. */
export function said(child: ChildProcess, start: string): Promise<string> {
  let ears = heard.get(child)
  if (!ears) {
    const made = { text: '', look: new Set<() => void>() }
    ears = made
    heard.set(child, made)
    child.stderr?.on('data', (piece: Buffer) => {
      made.text += piece.toString()
      for (const look of made.look) look()
    })
  }
  const { look } = ears
  return new Promise((resolve, reject) => {
    const search = (): void => {
      const line = heard
        .get(child)
        ?.text.split('\n')
        .slice(0, -1)
        .find(text => text.startsWith(start))
      if (line === undefined) return
      look.delete(search)
      resolve(line)
    }
    child.once('exit', (code, signal) =>
      reject(new Error(`ended (${code ?? signal}) without "${start}": ${heard.get(child)?.text}`)),
    )
    look.add(search)
    search()
  })
}

/** The client has seen its whole answer. */
export function isComplete({ status, body, whole }: Seen, stream: boolean): boolean {
  return status === 200 && (stream ? body.endsWith('data: [DONE]\n\n') : whole)
}
