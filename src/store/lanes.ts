import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'

/**
 * Each gateway of a store has a lane: a lease and a journal of its own, in files that end with its number. The first
 * lane, 0, has the plain names.
 */
export function withLane(path: string, lane: number): string {
  return lane === 0 ? path : `${path}-${lane}`
}

/** Lane 0, and the others that have such a file or folder, in order. */
export function lanesOf(path: string): readonly number[] {
  const prefix = `${basename(path)}-`
  const numbers = readdirSync(dirname(path))
    .filter(name => name.startsWith(prefix))
    .map(name => name.slice(prefix.length))
    .filter(digits => /^[1-9]\d?$/.test(digits))
    .map(Number)
  return [0, ...numbers.sort((a, b) => a - b)]
}
