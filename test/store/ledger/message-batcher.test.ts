import { describe, expect, it } from 'vitest'
import { MessageBatcher } from '../../../src/store/ledger/message-batcher.ts'
import type { Item } from '../../../src/store/ledger/messages.ts'
import type { PackedPost } from '../../../src/store/ledger/wire-format.ts'
import { testClock } from '../../support/test-clock.ts'

const item: Item = ['query', { query: 'nothing' }]

function opened() {
  const posts: PackedPost[] = []
  const clock = testClock()
  const outbox = new MessageBatcher(post => posts.push(post), clock)
  return { outbox, posts, clock, numbers: () => posts.map(({ first, items }) => [first, items.length]) }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

/** One that puts what has gathered, and one that brings no more. */
async function quiet(): Promise<void> {
  await turn()
  await turn()
}

describe('rows on their way to the writer', () => {
  it('go in one message once a turn of the event loop has brought no more, numbered without gaps', async () => {
    const { outbox, numbers } = opened()
    outbox.put(item)
    await turn()
    outbox.put(item)
    outbox.put(item)
    await turn()
    expect(numbers()).toEqual([])
    await turn()
    outbox.put(item)
    await quiet()
    expect(numbers()).toEqual([
      [1, 3],
      [4, 1],
    ])
  })

  it('go after five turns of which each has brought more', async () => {
    const { outbox, numbers } = opened()
    for (let turns = 0; turns < 7; turns++) {
      outbox.put(item)
      await turn()
    }
    expect(numbers()).toEqual([[1, 5]])
    await turn()
    expect(numbers()).toEqual([
      [1, 5],
      [6, 2],
    ])
  })

  it('gather while two messages are unanswered, and go together behind the first report', async () => {
    const { outbox, numbers } = opened()
    for (let turns = 0; turns < 5; turns++) {
      outbox.put(item)
      await quiet()
    }
    expect(numbers()).toHaveLength(2)
    outbox.answered(1)
    await quiet()
    expect(numbers().at(-1)).toEqual([3, 3])
    outbox.put(item)
    await quiet()
    expect(numbers()).toHaveLength(3)
  })

  it('do not gather for a report of which a part was told before: one of a later row answers for it', async () => {
    const { outbox, numbers } = opened()
    for (let turns = 0; turns < 4; turns++) {
      outbox.put(item)
      await quiet()
    }
    outbox.answered(2)
    await quiet()
    outbox.put(item)
    await quiet()
    expect(numbers()).toEqual([
      [1, 1],
      [2, 1],
      [3, 2],
      [5, 1],
    ])
  })

  it('all go to a writer in trouble, which is to know since when each of them waits', async () => {
    const { outbox, numbers } = opened()
    for (let turns = 0; turns < 4; turns++) {
      outbox.put(item)
      await quiet()
    }
    expect(numbers()).toHaveLength(2)
    outbox.isUrgent = true
    await quiet()
    outbox.put(item)
    await quiet()
    expect(numbers().slice(2)).toEqual([
      [3, 2],
      [5, 1],
    ])
  })

  it('go along with the next, where nobody waits for them, or by themselves before long', async () => {
    const { outbox, clock, numbers } = opened()
    outbox.add(item)
    await quiet()
    expect(numbers()).toEqual([])
    outbox.put(item)
    await quiet()
    expect(numbers()).toEqual([[1, 2]])
    clock.advance(20)
    outbox.add(item)
    outbox.answered(2)
    await quiet()
    expect(numbers()).toEqual([[1, 2]])
    clock.advance(20)
    await quiet()
    expect(numbers()).toEqual([
      [1, 2],
      [3, 1],
    ])
  })

  it('stay where they are once it is closed', async () => {
    const { outbox, posts, clock } = opened()
    outbox.put(item)
    outbox.add(item)
    outbox.close()
    await quiet()
    expect(posts).toEqual([])
    expect(clock.pending).toBe(0)
  })
})
