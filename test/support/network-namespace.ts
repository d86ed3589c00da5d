import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import process from 'node:process'
import type { WhenOver } from './when-over.ts'

const NAME = `gw${process.pid % 10_000}`
const [OUTSIDE, INSIDE] = [`${NAME}a`, `${NAME}b`]
const SUBNET = `10.213.${process.pid % 250}`

const ip = (...words: string[]) => void execFileSync('ip', words, { stdio: 'pipe' })
const inside = (...words: string[]) => ip('netns', 'exec', NAME, 'ip', ...words)

/** Needs root, `ip` and network namespaces. */
export const hasNamespaces =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  spawnSync('ip', ['netns', 'add', `${NAME}p`]).status === 0 &&
  spawnSync('ip', ['netns', 'del', `${NAME}p`]).status === 0

/** A machine in a network of its own: what it serves at its own 127.0.0.1 cannot be reached from here. */
export interface NetworkNamespace {
  /** Its address, and that of this machine for it. */
  readonly address: string
  readonly outsideAddress: string
  /** Runs a command of node in it, until the end of the test. */
  run(words: readonly string[], cwd: string, environment?: Readonly<Record<string, string>>): ChildProcess
  /** Packets to the other side go to an address that no interface has. */
  swallow(isOn: boolean): void
}

export function networkNamespace(whenOver: WhenOver): NetworkNamespace {
  ip('netns', 'add', NAME)
  whenOver(() => ip('netns', 'del', NAME))
  ip('link', 'add', OUTSIDE, 'type', 'veth', 'peer', 'name', INSIDE, 'netns', NAME)
  ip('addr', 'add', `${SUBNET}.1/24`, 'dev', OUTSIDE)
  ip('link', 'set', OUTSIDE, 'up')
  inside('addr', 'add', `${SUBNET}.2/24`, 'dev', INSIDE)
  inside('link', 'set', INSIDE, 'up')
  inside('link', 'set', 'lo', 'up')
  return {
    address: `${SUBNET}.2`,
    outsideAddress: `${SUBNET}.1`,
    run(words, cwd, environment = {}) {
      const child = spawn('ip', ['netns', 'exec', NAME, process.execPath, ...words], {
        cwd,
        env: { PATH: process.env['PATH'], HOME: cwd, ...environment },
        stdio: 'ignore',
      })
      whenOver(() => void child.kill('SIGKILL'))
      return child
    },
    swallow(isOn) {
      const where = (host: number, dev: string) => [
        'neigh',
        isOn ? 'replace' : 'del',
        `${SUBNET}.${host}`,
        ...(isOn ? ['lladdr', '02:00:00:00:00:99', 'nud', 'permanent'] : []),
        'dev',
        dev,
      ]
      ip(...where(2, OUTSIDE))
      inside(...where(1, INSIDE))
    },
  }
}
