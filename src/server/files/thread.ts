import { parentPort } from 'node:worker_threads'
import { CommandError } from '../../base/catalogue/command.ts'
import { applyFiles, rejected } from './apply-files.ts'
import { compareFiles } from './compare-files.ts'
import type { FilesJob, FilesOutcome } from './outcome.ts'

/**
 * The thread that applies files: to parse and plan thousands of keys takes seconds, which must not block the gateway.
 * Posts an outcome for each job. The message `end` aborts a job that has not begun its commit, and ends the thread.
 */
const port = parentPort
if (!port) throw new Error('thread.ts runs in a thread')

const ending = new AbortController()
let working: Promise<void> = Promise.resolve()
port.on('message', (message: FilesJob | 'end') => {
  if (message === 'end') {
    ending.abort(new CommandError('interrupted'))
    void working.finally(() => port.close())
    return
  }
  working = working.then(async () => port.postMessage(await execute(message)))
})

async function execute(job: FilesJob): Promise<FilesOutcome> {
  if (job.compareSince === undefined) return applyFiles(job, ending.signal)
  try {
    return { is: 'compared', ...(await compareFiles(job, job.compareSince, ending.signal)) }
  } catch (error) {
    return rejected('', error)
  }
}
