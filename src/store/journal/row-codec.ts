import {
  type CallRecord,
  type Claim,
  FLAGS,
  type Flag,
  type Hold,
  type HoldEnd,
  hasUnitsBesideTokens,
  type StoredIds,
  type Usage,
} from '../../schema/ledger.ts'
import type { Row } from '../ledger/messages.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'

/**
 * Rows of the ledger as bytes. Each begins with its kind; optional fields follow a byte of bits that says which are
 * there. The numbers of kinds, bits, flags and protocols are part of the format (`FORMAT_VERSION`): never reuse one.
 */

const KIND = { hold: 1, settle: 2, release: 3, log: 4, logOnNode: 5 } as const

const HAS_TENANT = 1
const HOLD = { prepaid: 2, call: 4, stream: 8, price: 16, inputUnits: 32 } as const
const SETTLEMENT = { stored: 2, units: 4 } as const
const CALL = {
  endpoint: 2,
  errorCode: 4,
  usage: 8,
  firstByte: 16,
  reason: 32,
  failedAttempts: 64,
  stream: 128,
} as const

/** No answer has more: a row with more is rejected, before it spoils a sum (`check` of the table `ledger`). */
const MAX_UNITS = 1_000_000_000_000

/** A protocol is stored as its place in this list. */
const PROTOCOLS: readonly CallRecord['protocol'][] = ['openai', 'anthropic']

/** @throws {RangeError} for a number that cannot be stored; then `to` has a part of the row. */
export function encodeRow(to: ByteWriter, row: Row): void {
  if (row[0] === 'hold') encodeHold(to, row[1])
  else if (row[0] === 'end') encodeEnd(to, row[1])
  else encodeCall(to, row[1])
}

/** @throws {RangeError} if the bytes are not a row. */
export function decodeRow(from: ByteReader): Row {
  const kind = from.byte()
  switch (kind) {
    case KIND.hold:
      return ['hold', decodeHold(from)]
    case KIND.settle:
    case KIND.release:
      return ['end', decodeEnd(from, kind === KIND.settle)]
    case KIND.log:
    case KIND.logOnNode:
      return ['log', decodeCall(from, kind === KIND.logOnNode)]
    default:
      throw new RangeError(`a row of the unknown kind ${kind}`)
  }
}

function encodeClaim(
  to: ByteWriter,
  { requestId, attempt, key, tenant, publication, endpoint }: Claim,
): void {
  to.text(requestId)
  to.count(attempt)
  to.text(key)
  if (tenant !== undefined) to.text(tenant)
  to.text(publication)
  to.text(endpoint)
}

function encodeHold(to: ByteWriter, hold: Hold): void {
  const { tenant, prepaid, call, price, inputUnits } = hold
  to.byte(KIND.hold)
  to.byte(
    bit(tenant !== undefined, HAS_TENANT) |
      bit(prepaid === true, HOLD.prepaid) |
      bit(call !== undefined, HOLD.call) |
      bit(call?.stream === true, HOLD.stream) |
      bit(price !== undefined, HOLD.price) |
      bit(inputUnits !== undefined, HOLD.inputUnits),
  )
  encodeClaim(to, hold)
  to.count(hold.openedAtMs)
  to.count(hold.deadlineMs)
  to.amount(hold.amountNano)
  to.count(hold.tokens)
  to.count(hold.inputTokens)
  to.amount(hold.inputAmountNano)
  if (call) to.text(call.path)
  if (price !== undefined) to.text(price)
  if (inputUnits) {
    to.count(inputUnits.durationMs)
    to.count(inputUnits.characters)
    to.count(inputUnits.images)
  }
}

function decodeHold(from: ByteReader): Hold {
  const bits = from.byte()
  // Field by field, as in the other rows: to spread a claim takes longer than to decode it.
  const requestId = from.text()
  const attempt = from.count()
  const key = from.text()
  const tenant = (bits & HAS_TENANT) === 0 ? undefined : from.text()
  const publication = from.text()
  const endpoint = from.text()
  const openedAtMs = from.count()
  const deadlineMs = from.count()
  const amountNano = from.amount()
  const tokens = from.count()
  const inputTokens = from.count()
  const inputAmountNano = from.amount()
  const path = (bits & HOLD.call) === 0 ? undefined : from.text()
  const price = (bits & HOLD.price) === 0 ? undefined : from.text()
  const inputUnits =
    (bits & HOLD.inputUnits) === 0
      ? undefined
      : { durationMs: from.count(), characters: from.count(), images: from.count() }
  return {
    requestId,
    attempt,
    key,
    tenant,
    publication,
    endpoint,
    openedAtMs,
    deadlineMs,
    amountNano,
    tokens,
    inputTokens,
    inputAmountNano,
    prepaid: (bits & HOLD.prepaid) !== 0,
    call: path === undefined ? undefined : { path, stream: (bits & HOLD.stream) !== 0 },
    price,
    inputUnits,
  }
}

function encodeEnd(to: ByteWriter, end: HoldEnd): void {
  const tenantBit = bit(end.tenant !== undefined, HAS_TENANT)
  if (end.kind === 'release') {
    to.byte(KIND.release)
    to.byte(tenantBit)
    encodeClaim(to, end)
    to.count(end.endedAtMs)
    to.text(end.reason)
    return
  }
  const { usage, flags, stored } = end
  const hasUnits = hasUnitsBesideTokens(usage)
  to.byte(KIND.settle)
  to.byte(tenantBit | bit(stored !== undefined, SETTLEMENT.stored) | bit(hasUnits, SETTLEMENT.units))
  encodeClaim(to, end)
  to.count(end.endedAtMs)
  to.amount(end.amountNano)
  encodeUsage(to, usage, hasUnits)
  encodeFlags(to, flags)
  if (stored) {
    to.count(stored.tokens)
    to.count(stored.outputTokens)
    to.count(stored.expiresAtMs)
    to.count(stored.ids.length)
    for (const id of stored.ids) to.text(id)
  }
}

function decodeEnd(from: ByteReader, isSettlement: boolean): HoldEnd {
  const bits = from.byte()
  const requestId = from.text()
  const attempt = from.count()
  const key = from.text()
  const tenant = (bits & HAS_TENANT) === 0 ? undefined : from.text()
  const publication = from.text()
  const endpoint = from.text()
  const endedAtMs = from.count()
  if (!isSettlement) {
    const reason = from.text()
    return { kind: 'release', requestId, attempt, key, tenant, publication, endpoint, endedAtMs, reason }
  }
  const amountNano = from.amount()
  const usage = decodeUsage(from, (bits & SETTLEMENT.units) !== 0)
  const flags = decodeFlags(from)
  const stored = (bits & SETTLEMENT.stored) === 0 ? undefined : decodeStored(from)
  return {
    kind: 'settle',
    requestId,
    attempt,
    key,
    tenant,
    publication,
    endpoint,
    endedAtMs,
    amountNano,
    usage,
    flags,
    stored,
  }
}

function decodeStored(from: ByteReader): StoredIds {
  const tokens = from.count()
  const outputTokens = from.count()
  const expiresAtMs = from.count()
  const ids = Array.from({ length: from.count() }, () => from.text())
  return { ids, tokens, outputTokens, expiresAtMs }
}

function encodeCall(to: ByteWriter, call: CallRecord): void {
  const { tenant, endpoint, node, errorCode, usage, firstByteMs, reason, failedAttempts } = call
  to.byte(node === undefined ? KIND.log : KIND.logOnNode)
  to.byte(
    bit(tenant !== undefined, HAS_TENANT) |
      bit(endpoint !== undefined, CALL.endpoint) |
      bit(errorCode !== undefined, CALL.errorCode) |
      bit(usage !== undefined, CALL.usage) |
      bit(firstByteMs !== undefined, CALL.firstByte) |
      bit(reason !== undefined, CALL.reason) |
      bit(failedAttempts !== undefined, CALL.failedAttempts) |
      bit(call.stream, CALL.stream),
  )
  to.text(call.requestId)
  to.count(call.atMs)
  to.text(call.key)
  if (tenant !== undefined) to.text(tenant)
  to.text(call.publication)
  if (endpoint !== undefined) to.text(endpoint)
  if (node !== undefined) to.text(node)
  to.byte(PROTOCOLS.indexOf(call.protocol))
  to.text(call.path)
  to.count(call.status)
  to.text(call.outcome)
  if (errorCode !== undefined) to.text(errorCode)
  if (usage) encodeUsage(to, usage, true)
  to.amount(call.amountNano)
  encodeFlags(to, call.flags)
  to.count(Math.max(0, Math.round(call.latencyMs)))
  if (firstByteMs !== undefined) to.count(Math.max(0, Math.round(firstByteMs)))
  to.count(call.attempts)
  if (reason !== undefined) to.text(reason)
  if (failedAttempts !== undefined) {
    to.count(failedAttempts.length)
    for (const attempt of failedAttempts) to.text(attempt)
  }
}

function decodeCall(from: ByteReader, isOnNode: boolean): CallRecord {
  const bits = from.byte()
  const optionalText = (which: number) => ((bits & which) === 0 ? undefined : from.text())
  const requestId = from.text()
  const atMs = from.count()
  const key = from.text()
  const tenant = optionalText(HAS_TENANT)
  const publication = from.text()
  const endpoint = optionalText(CALL.endpoint)
  const node = isOnNode ? from.text() : undefined
  const protocol = PROTOCOLS[from.byte()]
  if (!protocol) throw new RangeError('a call of an unknown protocol')
  const path = from.text()
  const status = from.count()
  const outcome = from.text()
  const errorCode = optionalText(CALL.errorCode)
  const usage = (bits & CALL.usage) === 0 ? undefined : decodeUsage(from, true)
  const amountNano = from.amount()
  const flags = decodeFlags(from)
  const latencyMs = from.count()
  const firstByteMs = (bits & CALL.firstByte) === 0 ? undefined : from.count()
  const attempts = from.count()
  const reason = optionalText(CALL.reason)
  const failedAttempts =
    (bits & CALL.failedAttempts) === 0 ? undefined : Array.from({ length: from.count() }, () => from.text())
  return {
    requestId,
    atMs,
    key,
    tenant,
    publication,
    endpoint,
    node,
    protocol,
    path,
    status,
    stream: (bits & CALL.stream) !== 0,
    outcome,
    errorCode,
    usage,
    amountNano,
    flags,
    latencyMs,
    firstByteMs,
    attempts,
    reason,
    failedAttempts,
  }
}

function encodeUsage(to: ByteWriter, usage: Usage, withUnits: boolean): void {
  to.count(usage.inputTokens, MAX_UNITS)
  to.count(usage.cachedInputTokens, MAX_UNITS)
  to.count(usage.cacheWriteTokens, MAX_UNITS)
  to.count(usage.outputTokens, MAX_UNITS)
  if (!withUnits) return
  to.count(usage.searchUnits, MAX_UNITS)
  to.count(usage.durationMs, MAX_UNITS)
  to.count(usage.characters, MAX_UNITS)
  to.count(usage.images, MAX_UNITS)
}

function decodeUsage(from: ByteReader, withUnits: boolean): Usage {
  return {
    inputTokens: from.count(),
    cachedInputTokens: from.count(),
    cacheWriteTokens: from.count(),
    outputTokens: from.count(),
    searchUnits: withUnits ? from.count() : 0,
    durationMs: withUnits ? from.count() : 0,
    characters: withUnits ? from.count() : 0,
    images: withUnits ? from.count() : 0,
  }
}

const NO_FLAGS: readonly Flag[] = Object.freeze([])

function encodeFlags(to: ByteWriter, flags: readonly Flag[]): void {
  to.byte(flags.length)
  for (const flag of flags) to.byte(FLAGS.indexOf(flag))
}

function decodeFlags(from: ByteReader): readonly Flag[] {
  const count = from.byte()
  if (count === 0) return NO_FLAGS
  return Array.from({ length: count }, () => {
    const flag = FLAGS[from.byte()]
    if (!flag) throw new RangeError('an unknown flag')
    return flag
  })
}

function bit(isSet: boolean, bits: number): number {
  return isSet ? bits : 0
}
