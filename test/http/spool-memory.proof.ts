import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BOUNDARY, bodyOf } from './multipart-bodies.ts'

const AT_ONCE = 20
const FILE_BYTES = 25_000_000
const MIB = 1_048_576

/** Answers with the hash of what it received. It reads slowly: what was not sent yet must not be overwritten. */
async function hashServer(): Promise<string> {
  const server = createServer((req, res) => {
    const hash = createHash('sha1')
    let pieces = 0
    req.on('data', (piece: Buffer) => {
      hash.update(piece)
      if (++pieces % 32 !== 0) return
      req.pause()
      setTimeout(() => req.resume(), 2)
    })
    req.on('end', () => res.end(hash.digest('hex')))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function mostBytes(child: ChildProcess): Promise<number> {
  child.send('')
  const [bytes] = (await once(child, 'message')) as [number]
  return bytes
}

describe('20 bodies of 25 MB at once', () => {
  it.each([
    ['keep 16 MiB in use at most', ['--expose-gc'], 0, 16],
    ['take less than 32 MiB more than 20 of 1 kB: the system sees no more than that', [], 1_000, 32],
  ])(
    '%s, and arrive whole',
    async (_title, execArgv, warmBytes, limitMib) => {
      const script = fileURLToPath(new URL('spool-memory.ts', import.meta.url))
      const child = fork(script, [await hashServer()], { execArgv })
      onTestFinished(() => void child.kill())
      const [{ url }] = (await once(child, 'message')) as [{ readonly url: string }]
      const file = Buffer.alloc(FILE_BYTES, `\r\n--${BOUNDARY.slice(0, 5)} and some sound\r\n`)
      const form = (model: string, fileBytes: number) =>
        bodyOf([
          { name: 'file', filename: 'a.wav', content: file.subarray(0, fileBytes) },
          { name: 'model', content: model },
        ]).bytes
      const sendAll = async (fileBytes: number): Promise<void> => {
        const body = form('public-name', fileBytes)
        const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }
        const hashes = await Promise.all(
          Array.from({ length: AT_ONCE }, async () => {
            const answer = await request(url, { method: 'POST', headers, body })
            return answer.body.text()
          }),
        )
        const expected = createHash('sha1').update(form('served-model', fileBytes)).digest('hex')
        expect(new Set(hashes)).toEqual(new Set([expected]))
      }

      // Code, connections, and what Node leaves to the garbage collector for any body.
      for (let round = 0; round < 5; round++) await sendAll(warmBytes)
      const before = await mostBytes(child)
      await sendAll(FILE_BYTES)
      const growth = (await mostBytes(child)) - before
      console.log(`${(growth / MIB).toFixed(1)} MiB more than ${(before / MIB).toFixed(1)}`)
      expect(growth).toBeLessThan(limitMib * MIB)
    },
    180_000,
  )
})
