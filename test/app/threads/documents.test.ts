import { expect, onTestFinished, test } from 'vitest'
import { Documents, understand } from '../../../src/app/threads/documents.ts'
import { systemClock } from '../../../src/base/clock.ts'

/** As `npm test` has built it. */
const MODULES = new URL('../../../dist/app/threads/', import.meta.url)

function setUp() {
  const documents = new Documents(systemClock, MODULES)
  onTestFinished(() => documents.end())
  return documents
}

const keys = (count: number) =>
  `version: 1\nkeys:\n${Array.from({ length: count }, (_, index) => `  k${index}: { kind: tenant, tenant: t }\n`).join('')}`

test('says of a document what is said without a thread: its tree, or every problem', async () => {
  const documents = setUp()
  const known = new Set(['tenant/t'])
  for (const yaml of [keys(3), keys(2).replace('tenant: t', 'tenat: t'), ': nonsense', '']) {
    const document = { yaml, known }
    expect(await documents.understand(document)).toEqual(await understand(document))
  }
})

test('lets others go on while it reads thousands of keys, and answers in order', async () => {
  const documents = setUp()
  const known = new Set(['tenant/t'])
  await documents.understand({ yaml: keys(1), known }) // the thread has started
  let turns = 0
  const counting = setInterval(() => turns++, 1)
  onTestFinished(() => clearInterval(counting))
  const [many, few] = await Promise.all(
    [2_000, 2].map(count => documents.understand({ yaml: keys(count), known })),
  )
  expect([many, few].map(loaded => loaded?.ok === true && loaded.tree.resources.length)).toEqual([2_000, 2])
  expect(turns).toBeGreaterThan(20)
})
