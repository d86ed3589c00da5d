import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const GW = fileURLToPath(new URL('../../bin/gw.js', import.meta.url))

export interface ProcessWorld {
  readonly cwd: string
  readonly environment?: Readonly<Record<string, string>>
  /** Options of node itself, such as `--import=…`. */
  readonly node?: readonly string[]
  /** Piped in, then closed; left open where absent. */
  readonly stdin?: string
}

export interface ProcessEnded {
  readonly exit: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** Starts the real command as a process of its own, without the environment of the tests. */
export function startGw(argv: readonly string[], world: ProcessWorld) {
  return startNode(GW, argv, world)
}

/** The same for another script. */
export function startNode(script: string, argv: readonly string[], world: ProcessWorld) {
  const child = spawn(process.execPath, [...(world.node ?? []), script, ...argv], {
    cwd: world.cwd,
    env: { PATH: process.env['PATH'], HOME: world.cwd, ...world.environment },
    stdio: 'pipe',
  })
  if (world.stdin !== undefined) child.stdin.end(world.stdin)
  return { child, ended: whenEnded(child) }
}

export async function gwProcess(argv: readonly string[], world: ProcessWorld): Promise<ProcessEnded> {
  return startGw(argv, { stdin: '', ...world }).ended
}

/** Runs a line of shell in which `gw` is the real command. */
export async function shell(line: string, world: ProcessWorld): Promise<ProcessEnded> {
  const child = spawn('bash', ['-c', `set -o pipefail; gw() { "$NODE" "$GW" "$@"; }; ${line}`], {
    cwd: world.cwd,
    env: { PATH: process.env['PATH'], HOME: world.cwd, NODE: process.execPath, GW, ...world.environment },
    stdio: 'pipe',
  })
  child.stdin.end(world.stdin ?? '')
  return whenEnded(child)
}

async function whenEnded(child: ChildProcess): Promise<ProcessEnded> {
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exit, signal) => resolve({ exit, signal, stdout, stderr }))
  })
}
