import type { RequestRecord } from '../request-log.ts'

/** Counts requests. Both are called on the path of every request: they take less than a microsecond and never throw. */
export interface RequestMeter {
  began(): void
  ended(record: RequestRecord): void
}

/** Counts nothing: nobody can ask. */
export const UNMEASURED: RequestMeter = { began: () => undefined, ended: () => undefined }
