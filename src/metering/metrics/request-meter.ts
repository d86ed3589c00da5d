import type { RequestRecord } from '../request-log.ts'

/** Counts requests. It is called on the path of every one: it takes less than a microsecond and never throws. */
export interface RequestMeter {
  began(): void
  ended(record: RequestRecord): void
  /** It has ended, and is none to be counted. */
  passed(): void
}

/** Counts nothing: nobody can ask. */
export const UNMEASURED: RequestMeter = {
  began: () => undefined,
  ended: () => undefined,
  passed: () => undefined,
}
