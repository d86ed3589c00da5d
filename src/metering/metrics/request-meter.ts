import type { RequestRecord } from '../request-log.ts'

/** Counts requests. Called for every request: takes less than a microsecond and never throws. */
export interface RequestMeter {
  began(): void
  ended(record: RequestRecord): void
  /** A request that is not counted has ended. */
  passed(): void
}

/** Counts nothing, for a gateway without `/metrics`. */
export const UNMEASURED: RequestMeter = {
  began: () => undefined,
  ended: () => undefined,
  passed: () => undefined,
}
