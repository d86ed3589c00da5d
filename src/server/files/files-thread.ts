import { parentPort, workerData } from 'node:worker_threads'
import { callsOver } from '../workers/worker-rpc.ts'
import { applyFiles } from './apply-files.ts'
import { compareFiles } from './compare-files.ts'
import type { FilesWorker, FollowedTree } from './outcome.ts'

/** The thread that applies files: to parse and plan thousands of keys takes seconds, which must not block the gateway. */
if (!parentPort) throw new Error('files-thread.ts runs in a thread')

// The thread is terminated as a whole, so the signal never aborts.
const { signal } = new AbortController()
const tree = workerData as FollowedTree
callsOver<object, FilesWorker>(parentPort, {
  apply: last => applyFiles(tree, last, signal),
  compare: since => compareFiles(tree, since, signal),
})
