import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { hasEnded, isRunning, ownIdentity } from '../../../src/store/postgres/ledger/process-identity.ts'

const MODULE = fileURLToPath(
  new URL('../../../src/store/postgres/ledger/process-identity.ts', import.meta.url),
)
const own = ownIdentity()
const onLinux = own.space !== ''

test.runIf(onLinux)('a process has ended if it is gone, or another one has its number', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  const start = spawnSync('sh', ['-c', `sed 's/.*) //' /proc/${child.pid}/stat | cut -d ' ' -f 20`]).stdout
  const other = { ...own, pid: child.pid ?? 0, start: String(start).trim() }
  expect([hasEnded(other, own), isRunning(other, own)]).toEqual([false, true])
  const reused = { ...other, start: '1' }
  expect([hasEnded(reused, own), isRunning(reused, own)]).toEqual([true, false])
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect([hasEnded(other, own), isRunning(other, own)]).toEqual([true, false])
})

test('nothing is known of a process of another machine, boot or container', () => {
  for (const change of [{ host: 'other' }, { space: 'an earlier boot' }]) {
    const other = { ...own, start: '1', ...change }
    expect([hasEnded(other, own), isRunning(other, own)]).toEqual([false, false])
  }
  const unknown = { ...own, space: '' }
  expect([hasEnded({ ...unknown, start: '1' }, unknown), isRunning(unknown, unknown)]).toEqual([false, false])
})

// /proc without the processes of other users, as with ProtectProc=invisible of systemd.
const HIDDEN = ['unshare', '--mount', 'sh', '-c', 'mount -o remount,hidepid=2 /proc && exec "$@"', 'sh']
const AS_NOBODY = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
const [unshare = '', ...hide] = [...HIDDEN, ...AS_NOBODY]
const canHide = onLinux && spawnSync(unshare, [...hide, 'true']).status === 0

test.runIf(canHide)('a process that /proc does not show has not ended', () => {
  const program = `
    import { hasEnded, ownIdentity } from ${JSON.stringify(MODULE)}
    const own = ownIdentity()
    console.log(hasEnded({ ...own, pid: ${process.pid}, start: '${own.start}' }, own))`
  const { stdout, stderr } = spawnSync(
    unshare,
    [...hide, process.execPath, '--input-type=module', '-e', program],
    { encoding: 'utf8' },
  )
  expect(stdout, stderr).toBe('false\n')
})
