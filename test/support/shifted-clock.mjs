/**
 * `node --import` of this file: the wall clock of the process is off by `GW_TEST_CLOCK_MS`; the monotonic one is not. A seam of the tests
 * alone: the product has none.
 */
import process from 'node:process'

const offMs = Number(process.env['GW_TEST_CLOCK_MS'] ?? 0)
const RealDate = Date
const nowMs = RealDate.now.bind(RealDate)

globalThis.Date = class extends RealDate {
  constructor(...values) {
    if (values.length === 0) super(nowMs() + offMs)
    else super(...values)
  }

  static now() {
    return nowMs() + offMs
  }
}
