import { once } from 'node:events'
import Database from 'better-sqlite3'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { gwProcess, shell, startGw } from './process.ts'
import { FIRST, SECOND } from './sample-tree.ts'

let dir: TempDir
let world: { readonly cwd: string }

beforeEach(() => {
  dir = tempDir(onTestFinished)
  world = { cwd: dir.path }
  dir.write('gw.yaml', FIRST)
})

/** Resolves when the process has said `text` on one of its streams. */
async function said(
  { child }: ReturnType<typeof startGw>,
  stream: 'stdout' | 'stderr',
  text: string,
): Promise<void> {
  let heard = ''
  await new Promise<void>((resolve, reject) => {
    child[stream].on('data', (chunk: Buffer) => {
      heard += chunk.toString()
      if (heard.includes(text)) resolve()
    })
    child.once('close', () => reject(new Error(`ended without saying ${text}: ${heard}`)))
  })
}

describe('as real processes', () => {
  it('gw export | gw diff -c - --exit-code exits 0', async () => {
    expect((await gwProcess(['apply', '--yes', '--skip-probe'], world)).exit).toBe(0)
    const { exit, stdout, stderr } = await shell('gw export | gw diff -c - --exit-code', world)
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(stdout).toContain('0 to create, 0 to update, 0 to delete\n')
    expect((await shell('gw export --format json | gw diff -c - --exit-code', world)).exit).toBe(0)
  })

  it('end with the exit codes that are promised', async () => {
    const exits = {
      done: await gwProcess(['validate'], world),
      changes: await gwProcess(['diff', '--exit-code'], world),
      unexpected: await gwProcess(['export', '--store', 'sqlite:.'], world),
      precondition: await gwProcess(['apply'], world),
      usage: await gwProcess(['aply'], world),
      invalid: await gwProcess(['validate', '-c', 'nowhere'], world),
    }
    expect(Object.fromEntries(Object.entries(exits).map(([name, { exit }]) => [name, exit]))).toEqual({
      done: 0,
      changes: 2,
      unexpected: 1,
      precondition: 4,
      usage: 64,
      invalid: 3,
    })
  })

  it('of two concurrent applies of one state one wins with 0 and the other ends with 4, nothing changed', async () => {
    await gwProcess(['apply', '--yes', '--skip-probe'], world)
    dir.write('gw.yaml', SECOND)
    // No process can commit while the test holds the lock, so both have made their plan before one of them can.
    const lock = new Database(dir.at('data/gw.db'))
    onTestFinished(() => void lock.close())
    lock.exec('BEGIN IMMEDIATE')
    const applies = [
      startGw(['apply', '--yes', '--skip-probe'], world),
      startGw(['apply', '--yes', '--skip-probe'], world),
    ]
    await Promise.all(applies.map(apply => said(apply, 'stdout', '1 to create, 3 to update, 1 to delete')))
    lock.exec('ROLLBACK')

    const ends = await Promise.all(applies.map(apply => apply.ended))
    expect(new Set(ends.map(({ exit }) => exit))).toEqual(new Set([0, 4]))
    expect(ends.find(({ exit }) => exit === 0)?.stdout).toContain('Applied: revision 2.\n')
    expect(ends.find(({ exit }) => exit === 4)?.stderr).toContain('error GW4001')
    expect((await gwProcess(['diff', '--exit-code'], world)).exit).toBe(0)
  })

  it('end quietly when the reader of stdout has gone', async () => {
    await gwProcess(['apply', '--yes', '--skip-probe'], world)
    const many = Array.from({ length: 5_000 }, (_, at) => `  key-${at}: { kind: platform }`).join('\n')
    dir.write('gw.yaml', `${FIRST.trimEnd()}\n${many}\n`)
    const { stdout, stderr } = await shell('gw diff | head -1; gw diff --format json | true', world)
    expect(stdout).toBe('Set shop, against revision 1.\n')
    expect(stderr).toBe('')
  })

  it.runIf(process.platform === 'linux')('exit 1 when stdout is full', async () => {
    const { exit, stderr } = await shell('gw validate > /dev/full', world)
    expect(exit).toBe(1)
    expect(stderr).toContain('ENOSPC')
  })

  it.each([
    ['SIGINT', 'text'],
    ['SIGTERM', 'json'],
  ] as const)(
    'are interrupted by %s while they wait for stdin: 130, and as %s nothing but the failure',
    async (signal, format) => {
      const gw = startGw(['diff', '-c', '-', '--format', format], world)
      // More than a pipe holds: it drains only when the command reads, and then it listens for signals, too.
      expect(gw.child.stdin.write(`# ${'x'.repeat(4_000_000)}\n`)).toBe(false)
      await once(gw.child.stdin, 'drain')
      gw.child.kill(signal)
      const { exit, signal: killed, stdout, stderr } = await gw.ended
      expect({ exit, killed }).toEqual({ exit: 130, killed: null })
      if (format === 'json') expect(JSON.parse(stdout)).toHaveProperty('error.code', 'GW9002')
      else
        expect({ stdout, stderr }).toEqual({
          stdout: '',
          stderr: expect.stringContaining('error GW9002: Interrupted.'),
        })
    },
  )

  it('serve the demo upstream until a signal ends it, which is success', async () => {
    const gw = startGw(['demo-upstream', '--listen', '127.0.0.1:0', '--format', 'json'], world)
    const [chunk] = (await once(gw.child.stdout, 'data')) as [Buffer]
    const { url } = JSON.parse(chunk.toString()) as { url: string }
    expect((await fetch(`${url}/v1/models`)).status).toBe(200)
    const taken = await gwProcess(['demo-upstream', '--listen', url.slice('http://'.length)], world)
    expect(taken.exit).toBe(4)
    expect(taken.stderr).toContain('error GW4008')
    gw.child.kill('SIGINT')
    expect((await gw.ended).exit).toBe(0)
  })
})
