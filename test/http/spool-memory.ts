/**
 * A small proxy, run as a process of its own, of which the proof measures the memory: it spools and scans each body,
 * and sends it on with another model. To a message it answers with the most memory that it has used since the last one:
 * with `--expose-gc` what is in use after a collection, else what the system sees.
 *
 *     spool-memory.ts <url of the upstream>
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import process from 'node:process'
import type { Readable } from 'node:stream'
import { Agent, request } from 'undici'
import { systemRandom } from '../../src/base/random.ts'
import { boundaryOf, MultipartScanner } from '../../src/http/multipart.ts'
import { editedLength, readEdited, readSpooled, SpoolFolder } from '../../src/http/spool.ts'

const [, , upstream = ''] = process.argv
const folder = new SpoolFolder({
  folder: tmpdir(),
  random: systemRandom,
  memoryBytes: 1_048_576,
  capacityBytes: 2 ** 30,
})
const dispatcher = new Agent()

async function proxy(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const scanner = new MultipartScanner(boundaryOf(req.headers['content-type'])!, { model: 'text' })
  const body = await readSpooled(req, folder, 32_000_000, (piece, offset) => scanner.push(piece, offset))
  if (!body.ok || !scanner.end()) throw new Error('rejected')
  const { spool } = body
  const edits = scanner.replace(scanner.field('model')!, Buffer.from('served-model'))!
  const answer = await request(upstream, {
    method: 'POST',
    headers: { 'content-length': `${editedLength(spool.lengthBytes, edits)}` },
    // Its types lack what undici takes.
    body: readEdited(spool, edits) as unknown as Readable,
    dispatcher,
  })
  const text = await answer.body.text()
  await spool.close()
  res.end(text)
}

const server = createServer((req, res) => {
  proxy(req, res).catch((error: unknown) => {
    res.destroy()
    console.error(error)
  })
}).listen(0, '127.0.0.1')
await once(server, 'listening')

const { gc } = globalThis
function usedBytes(): number {
  if (!gc) return process.memoryUsage.rss()
  // Buffers are freed in the background: the second collection waits for those of the first.
  gc()
  gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

let mostBytes = 0
function sample(): void {
  mostBytes = Math.max(mostBytes, usedBytes())
}
setInterval(sample, gc ? 150 : 2)
process.on('message', () => {
  sample()
  process.send?.(mostBytes)
  mostBytes = 0
})
process.on('disconnect', () => process.exit())
process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
