import { createHash } from 'node:crypto'
import { readFiles } from './files.ts'
import { Report } from './report.ts'

/**
 * A hash that identifies the state of a tree: over the names and contents of all its files, and over read errors.
 * Equal if a load would read the same.
 */
export async function fingerprint(paths: readonly string[], folder?: string): Promise<string> {
  const report = new Report()
  const ports = {
    ...(folder !== undefined && { folder }),
    environment: {},
    readStdin: () => Promise.resolve(Buffer.alloc(0)),
    known: new Set<string>(),
  }
  const { sources } = await readFiles(paths, ports, report)
  const hash = createHash('sha256')
  for (const { file, text } of sources) hash.update(JSON.stringify([file, text.length])).update(text)
  for (const { code, place, message } of report.problems())
    hash.update(JSON.stringify([code, place.file, message]))
  return hash.digest('hex')
}
