/**
 * Preloaded with `node --import`: a process that opens a socket, starts a process, loads native code or writes
 * a file ends at once, saying which.
 */
import childProcess from 'node:child_process'
import dgram from 'node:dgram'
import dns from 'node:dns'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import process from 'node:process'

function seal(name) {
  return () => {
    fs.writeSync(2, `sealed: ${name}\n`)
    process.exit(1)
  }
}

const writing = flags => (typeof flags === 'number' ? (flags & 3) !== 0 : /[wa+]/.test(flags ?? 'r'))

for (const name of ['open', 'openSync']) {
  const real = fs[name]
  fs[name] = (path, flags, ...rest) => (writing(flags) ? seal(`fs.${name}`)() : real(path, flags, ...rest))
}
const realOpen = fs.promises.open
fs.promises.open = (path, flags, ...rest) =>
  writing(flags) ? seal('fs.promises.open')() : realOpen(path, flags, ...rest)

const WRITERS = [
  'writeFile',
  'appendFile',
  'mkdir',
  'mkdtemp',
  'rename',
  'rm',
  'rmdir',
  'unlink',
  'copyFile',
  'symlink',
  'link',
  'chmod',
  'truncate',
  'utimes',
]
for (const name of WRITERS) {
  fs[name] = seal(`fs.${name}`)
  fs[`${name}Sync`] = seal(`fs.${name}Sync`)
  fs.promises[name] = seal(`fs.promises.${name}`)
}
for (const name of ['spawn', 'spawnSync', 'execFile', 'execFileSync', 'exec', 'execSync', 'fork']) {
  childProcess[name] = seal(`child_process.${name}`)
}
net.Socket.prototype.connect = seal('net.Socket.connect')
net.Server.prototype.listen = seal('net.Server.listen')
dgram.Socket.prototype.bind = seal('dgram.Socket.bind')
dns.lookup = seal('dns.lookup')
dns.promises.lookup = seal('dns.promises.lookup')
process.dlopen = seal('process.dlopen')
syncBuiltinESMExports()
