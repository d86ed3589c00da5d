import { mkdtemp, readFile, rmdir, stat, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { availableParallelism, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { asError } from '../../base/as-error.ts'
import type { ListenAddress } from '../../http/listen.ts'
import { askGateway } from '../live-stats/ask-gateway.ts'
import { type Diagnosis, fine } from './types.ts'

const MIB = 1_048_576
const LOW_DISK_BYTES = 1_024 * MIB
const FULL_DISK_BYTES = 100 * MIB
const LOW_FILES = 4_096
const LOW_HEAP_BYTES = 512 * MIB
/** Node lines with security fixes in 2026 (https://github.com/nodejs/release#release-schedule) start here. */
const MAINTAINED_FROM = 22

/** `bin/gw.js` has already rejected versions that are too old. */
export function nodeVersion(version: string): Diagnosis {
  const major = Number(/^v?(\d+)/.exec(version)?.[1])
  if (major >= MAINTAINED_FROM && major % 2 === 0) return fine('node', `Node ${version}.`)
  return {
    check: 'node',
    state: 'warn',
    found: `Node ${version} works, but no longer gets security fixes.`,
    hint: 'Install the newest even version of Node; gw needs 22.22 or newer.',
  }
}

export function memory(): Diagnosis {
  const { heap_size_limit: limit } = getHeapStatistics()
  const found = `${Math.round(totalmem() / MIB)} MiB in the machine, ${Math.round(limit / MIB)} MiB for the heap, ${availableParallelism()} cores.`
  if (limit >= LOW_HEAP_BYTES) return fine('memory', found)
  return {
    check: 'memory',
    state: 'warn',
    found,
    hint: 'Give the process more: NODE_OPTIONS=--max-old-space-size=1024, or a larger memory limit of the container.',
  }
}

/** Only Linux reports the limit (proc(5)). */
export async function openFiles(limits = '/proc/self/limits'): Promise<Diagnosis> {
  const text = await readFile(limits, 'utf8').catch(() => '')
  const most = Number(/^Max open files +(\d+)/m.exec(text)?.[1] ?? Number.NaN)
  if (Number.isNaN(most)) return fine('open files', 'This system does not report its open-file limit.')
  if (most >= LOW_FILES) return fine('open files', `${most} files may be open.`)
  return {
    check: 'open files',
    state: 'warn',
    found: `Only ${most} files may be open: each client needs two.`,
    hint: 'Raise it: `ulimit -n 65536`, or LimitNOFILE=65536 of the systemd unit.',
  }
}

/** The disk of the store, or of its future location. */
export async function diskSpace(storePath: string): Promise<Diagnosis> {
  const folder = await nearestFolder(dirname(storePath))
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  const found = `${Math.round(free / MIB)} MiB are free at ${folder}.`
  const hint =
    'Free some space, or shorten `settings.log.retention`: on a full disk no charge can be written, and inference answers 503.'
  const fault = await writeFaultOf(folder)
  if (fault !== undefined) {
    return {
      check: 'disk',
      state: 'fail',
      found: `${folder} cannot be written: ${fault}`,
      hint: 'Run gw as the user that owns it, mount it writable, or name another place with --store.',
    }
  }
  if (free >= LOW_DISK_BYTES) return fine('disk', found)
  return { check: 'disk', state: free < FULL_DISK_BYTES ? 'fail' : 'warn', found, hint }
}

/** Found by writing: after an I/O error of its disk, ext4 permits writes that then fail. */
async function writeFaultOf(folder: string): Promise<string | undefined> {
  try {
    await rmdir(await mkdtemp(join(folder, '.gw-doctor-')))
    return undefined
  } catch (error) {
    return asError(error).message
  }
}

async function nearestFolder(path: string): Promise<string> {
  const stats = await stat(path).catch(() => undefined)
  return stats?.isDirectory() || dirname(path) === path ? path : nearestFolder(dirname(path))
}

/** Free, or used by a gw. */
export async function port(
  flag: string,
  { host, port: number }: ListenAddress,
  signal: AbortSignal,
): Promise<Diagnosis> {
  const check = `port ${number}`
  const fault = await listenFaultOf(host, number)
  if (fault === undefined) return fine(check, 'It is free.')
  const name = host.includes(':') ? `[${host}]` : host
  const answer = await askGateway(`http://${name}:${number}`, { token: undefined, signal })
  if (answer.health) return fine(check, `A gw answers there, with revision ${answer.health.revision}.`)
  if (answer.isControl) return fine(check, 'The control plane of a gw answers there.')
  return {
    check,
    state: 'warn',
    found: fault === 'EADDRINUSE' ? 'Another program listens there.' : `It cannot be listened on (${fault}).`,
    hint: `Choose another one: \`gw serve ${flag} HOST:PORT\`.`,
  }
}

function listenFaultOf(host: string, number: number): Promise<string | undefined> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen(number, host, () => server.close(() => resolve(undefined)))
  })
}
