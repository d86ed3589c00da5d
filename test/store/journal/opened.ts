import { Journal, type JournalOptions } from '../../../src/store/journal/journal.ts'
import { type TestClock, testClock } from '../../support/test-clock.ts'
import { SimulatedDisk } from './simulated-disk.ts'

export const JOURNAL_ID = '00112233445566778899aabbccddeeff'

export interface Opened {
  readonly journal: Journal
  readonly disk: SimulatedDisk
  readonly clock: TestClock
  /** Ends the turn of the event loop. */
  readonly endTurn: () => void
  readonly problems: string[]
}

/** A journal on a simulated disk, with turns that the test ends. */
export async function opened(
  disk: SimulatedDisk = new SimulatedDisk(),
  options: Partial<JournalOptions> = {},
): Promise<Opened> {
  const clock = testClock()
  const problems: string[] = []
  let tasks: (() => void)[] = []
  const opening = Journal.open({
    files: disk,
    clock,
    atTurnEnd: task => tasks.push(task),
    journalId: JOURNAL_ID,
    firstRow: 1,
    segmentBytes: 4_096,
    onProblem: error => problems.push(error.message),
    onRecovered: () => problems.push('recovered'),
    ...options,
  })
  // The header of its first segment.
  await settleAll()
  disk.endSync()
  const journal = await opening
  const endTurn = () => {
    const due = tasks
    tasks = []
    for (const task of due) task()
  }
  return { journal, disk, clock, endTurn, problems }
}

/** Lets all promises that are due settle. */
export function settleAll(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
