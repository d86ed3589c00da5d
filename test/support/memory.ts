import process from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes of objects in use after a collection, and of the process. */
export interface Memory {
  readonly objects: number
  readonly process: number
}

export function memoryInUse(): Memory {
  collect()
  const { heapUsed, rss } = process.memoryUsage()
  return { objects: heapUsed, process: rss }
}
