import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { JournalDamaged, JournalReader } from '../../../src/store/journal/reader.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { hold } from '../ledger/rows.ts'
import { JOURNAL_ID, opened, settleAll } from './opened.ts'
import { SimulatedDisk } from './simulated-disk.ts'

/** What happens next. */
type Step =
  | { readonly step: 'turn'; readonly rows: number; readonly wait: boolean }
  | { readonly step: 'end_sync'; readonly fails: boolean }
  | { readonly step: 'pass_time'; readonly ms: number }
  | { readonly step: 'fail_writes'; readonly on: boolean }
  | { readonly step: 'fold'; readonly part: number; readonly releases: boolean }
  | { readonly step: 'power_cut'; readonly survivors: readonly boolean[] }

const turns = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.boolean())
  .map(([rows, wait]): Step => ({ step: 'turn', rows, wait }))
const syncs = fc.constantFrom<Step>(
  ...Array.from({ length: 8 }, (): Step => ({ step: 'end_sync', fails: false })),
  { step: 'end_sync', fails: true },
)
const times = fc.constantFrom(1, 2, 500, 5_000).map((ms): Step => ({ step: 'pass_time', ms }))
const faults = fc.boolean().map((on): Step => ({ step: 'fail_writes', on }))
const folds = fc
  .tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean())
  .map(([part, releases]): Step => ({ step: 'fold', part, releases }))
const cuts = fc
  .array(fc.boolean(), { minLength: 1, maxLength: 16 })
  .map((survivors): Step => ({ step: 'power_cut', survivors }))

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: turns },
    { weight: 9, arbitrary: syncs },
    { weight: 3, arbitrary: times },
    { weight: 1, arbitrary: faults },
    { weight: 2, arbitrary: folds },
    { weight: 1, arbitrary: cuts },
  ),
  { minLength: 5, maxLength: 60 },
)

/**
 * Any history of turns, syncs, faults and power cuts: after each cut, the rows that are read are the appended ones, in
 * order, without a gap, and none is missing that was acknowledged.
 */
async function survive(history: readonly Step[], folder: string): Promise<void> {
  let disk = new SimulatedDisk()
  let at = await opened(disk, { segmentBytes: 1_024 })
  /** The appended rows, by number. */
  let ids: string[] = []
  let acknowledged = 0
  /** Rows up to here have been folded into the store, and are not wanted any more. */
  let folded = 0
  let made = 0

  const recovered = (from: SimulatedDisk): string[] => {
    from.copyTo(folder)
    return new JournalReader(folder, JOURNAL_ID, folded + 1).read(100_000).map(({ row }) => row[1].requestId)
  }

  for (const step of [...history, { step: 'power_cut', survivors: [false] } as const]) {
    switch (step.step) {
      case 'turn': {
        let last = 0
        for (let index = 0; index < step.rows; index++) {
          ids.push(`req_${made}`)
          last = at.journal.append(['hold', hold(`req_${made}`)])
          made++
        }
        expect(last).toBe(ids.length)
        at.endTurn()
        if (step.wait) {
          const note = () => {
            acknowledged = Math.max(acknowledged, last)
          }
          at.journal.acknowledged(last)?.then(note, () => undefined)
        }
        break
      }
      case 'end_sync':
        disk.endSync(step.fails ? new Error('input/output error') : undefined)
        break
      case 'pass_time':
        at.clock.advance(step.ms)
        break
      case 'fail_writes':
        disk.failsToWrite = step.on
        break
      case 'fold': {
        // The store has any of the written rows: what it has committed is durable there.
        const row = at.journal.writtenRow
        folded = Math.max(folded, Math.floor(folded + step.part * (row - folded)))
        if (!step.releases) break
        disk.copyTo(folder)
        const reader = new JournalReader(folder, JOURNAL_ID, folded + 1)
        try {
          reader.read(1, row)
        } catch (error) {
          // After a failed sync the system has forgotten rows; the journal writes them again.
          if (!(error instanceof JournalDamaged)) throw error
          break
        }
        at.journal.release(reader.takeFinished())
        break
      }
      case 'power_cut': {
        disk = disk.cut(index => step.survivors[index % step.survivors.length] === true)
        const after = recovered(disk)
        expect(after).toEqual(ids.slice(folded, folded + after.length))
        expect(folded + after.length).toBeGreaterThanOrEqual(acknowledged)
        ids = ids.slice(0, folded + after.length)
        // The next process reads the journal to its end first, and folds it.
        folded = ids.length
        acknowledged = ids.length
        at = await opened(disk, { segmentBytes: 1_024, firstRow: ids.length + 1 })
        break
      }
    }
    await settleAll()
  }
}

test('no acknowledged row is lost by any power cut, and none is invented', { timeout: 60_000 }, async () => {
  const folder = tempDir(onTestFinished).path
  const survives = (history: readonly Step[]) => survive(history, folder)
  await fc.assert(fc.asyncProperty(steps, survives), { numRuns: 300 })
})
