import Database from 'better-sqlite3'
import { vi } from 'vitest'

/** The texts of the statements that `work` runs in SQLite, each once. */
export async function statementsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const raw = new Database(':memory:')
  const proto = Object.getPrototypeOf(raw.prepare('select 1')) as Database.Statement
  raw.close()
  const texts = new Set<string>()
  const spies = (['all', 'get', 'run', 'iterate'] as const).map(method => {
    const original = proto[method] as (...values: unknown[]) => unknown
    return vi.spyOn(proto, method).mockImplementation(function (
      this: Database.Statement,
      ...values: unknown[]
    ): never {
      texts.add(this.source)
      return original.apply(this, values) as never
    })
  })
  try {
    await work()
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  return [...texts]
}
