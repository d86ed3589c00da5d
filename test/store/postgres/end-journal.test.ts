import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { EndJournal, readEnds } from '../../../src/store/postgres/ledger/end-journal.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { hold, settle } from '../ledger/rows.ts'

const INSTANCE = '0123456789abcdef'

function setUp() {
  const root = tempDir(onTestFinished).path
  const problems: string[] = []
  const journal = new EndJournal(root, INSTANCE, {
    clock: systemClock,
    onProblem: error => problems.push(error.message),
  })
  onTestFinished(() => journal.close(false))
  return { root, problems, journal, left: () => readEnds(root, INSTANCE).map(({ end }) => end.requestId) }
}

test('has what was acknowledged, and nothing once all is in the store', async () => {
  const { journal, left } = setUp()
  await Promise.all(['a', 'b'].map(id => journal.append(hold(id), settle(id))))
  expect(left()).toEqual(['a', 'b'])
  await journal.close(true)
  expect(left()).toEqual([])
})

test('an end that comes while the journal before is removed stays', async () => {
  const { journal, left, problems } = setUp()
  for (let round = 0; round < 5; round++) {
    await journal.append(hold(`before-${round}`), settle(`before-${round}`))
    const closed = journal.close(true)
    await journal.append(hold(`during-${round}`), settle(`during-${round}`))
    await closed
    expect(left()).toEqual([`during-${round}`])
    await journal.close(true)
  }
  expect(problems).toEqual([])
})
