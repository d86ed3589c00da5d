import type { HoldEnd } from '../../schema/ledger.ts'
import type { Row, RowFault, Short } from './messages.ts'

const ALARMS: Readonly<Record<Exclude<RowFault, Short>, string>> = {
  held_twice: 'the same hold was opened before',
  ended_differently: 'the hold has ended before, in another way; the first end is final',
  never_held: 'there never was such a hold',
}

/** A row that contradicts the ledger, with all that the operator needs to correct the charge by hand. */
export function alarmOf(row: Row, fault: RowFault): string {
  return `${describeRow(row)}: ${describeFault(fault)}`
}

export function describeFault(fault: RowFault): string {
  if (typeof fault === 'string') return ALARMS[fault]
  return `the balance of ${fault.balanceNano} nano-units does not cover it, ${fault.heldNano} are held`
}

/** `hold req_1, attempt 2`. */
export function describeRow(row: Row): string {
  switch (row[0]) {
    case 'hold':
      return `hold ${row[1].requestId}, attempt ${row[1].attempt}`
    case 'end':
      return describeEnd(row[1])
    case 'log':
      return 'a line of the call log'
  }
}

function describeEnd(end: HoldEnd): string {
  const id = `${end.kind} of hold ${end.requestId}, attempt ${end.attempt}, key ${end.key}`
  if (end.kind === 'release') return `${id}, ${end.reason}`
  const { inputTokens, outputTokens } = end.usage
  return `${id}, ${end.publication}, ${inputTokens} + ${outputTokens} tokens, ${end.amountNano} nano-units`
}
