import { iso } from '../../base/iso.ts'
import { pluralize } from '../../base/pluralize.ts'
import { textWidth } from '../../base/text-width.ts'
import type { Usage } from '../../schema/ledger.ts'
import { isRejection, type LoggedCall } from '../../services/calls.ts'
import type { StoredCall, StoredRejection } from '../../store/ledger/types.ts'
import { moneyText } from './money-text.ts'
import { printable, type Style } from './style.ts'

/** The widest column of names; the rest of a line with a longer name moves right. */
const WIDEST_NAME = 32

/** Formats calls as lines. The column widths only grow, so that later lines are aligned with earlier ones. */
export interface CallLines {
  /** Updates the column widths for the calls of a batch, before the first of them is written. */
  expect(calls: readonly LoggedCall[]): void
  line(call: LoggedCall): string
}

interface Part {
  readonly text: string
  readonly paint?: 'added' | 'changed' | 'fault' | 'faint'
  /** On a narrow terminal the highest ranks are dropped first; 0 never is. */
  readonly rank: number
}

/**
 * A call, with its cause if it failed; a rejected request with the requested model, quoted, and the error message of
 * the client.
 *
 *     2026-01-15T12:00:00.000Z 200  chat  app  120 → 45  0.00075 EUR  1.24s  fast  gwr_01…
 *     2026-01-15T12:00:01.250Z 502  chat  app  0 EUR  0.02s  failed upstream_error  fast answered 500  fast  gwr_02…
 *     2026-01-15T12:00:02.000Z 429  "chat"  app  rejected rate_limit_requests ×12  Requests per minute of key …
 *
 * @param width of the terminal; `undefined`: no terminal, and nothing is left out.
 */
export function callLines(currency: string, style: Style, width: number | undefined): CallLines {
  let models = 0
  let keys = 0
  return {
    expect(calls) {
      models = widest(models, calls.map(modelText))
      keys = widest(
        keys,
        calls.map(call => call.key ?? ''),
      )
    },
    line(call) {
      const parts: Part[] = [
        { text: iso(call.atMs), paint: 'faint', rank: 0 },
        { text: String(call.status).padStart(3), paint: paintOf(call.status), rank: 0 },
        { text: pad(printable(modelText(call)), models), rank: 0 },
        { text: pad(printable(call.key ?? ''), keys), rank: 0 },
        ...(isRejection(call) ? rejectionParts(call) : callParts(call, currency)),
        { text: printable(call.requestId), paint: 'faint', rank: 7 },
      ]
      return `${fitting(parts, width)
        .map(({ text, paint }) => (paint ? style[paint](text) : text))
        .join('  ')
        .trimEnd()}\n`
    },
  }
}

function callParts(call: StoredCall, currency: string): Part[] {
  const { reason = '', failedAttempts = [] } = call
  // `reason` describes the last attempt.
  const before = failedAttempts.slice(0, call.outcome === 'answered' ? undefined : -1)
  return [
    { text: outcomeText(call), paint: 'fault', rank: 0 },
    { text: printable(reason), rank: 1 },
    { text: before.length === 0 ? '' : `after ${before.map(printable).join(', ')}`, rank: 6 },
    { text: usageText(call.usage), rank: 3 },
    { text: moneyText(call.amountNano, currency), rank: 2 },
    { text: `${(call.latencyMs / 1_000).toFixed(2)}s`, rank: 4 },
    { text: printable(placeText(call)), rank: 5 },
    { text: call.flags.filter(flag => flag !== call.outcome).join(' '), paint: 'faint', rank: 6 },
  ]
}

/** `qwen`, or `qwen on gpu-7`. */
function placeText({ endpoint = '', node }: StoredCall): string {
  return node === undefined ? endpoint : `${endpoint} on ${node}`
}

function rejectionParts({ status, errorCode, count, message, reason = '' }: StoredRejection): Part[] {
  const times = count > 1 ? ` ×${count}` : ''
  return [
    {
      text: printable(`${status >= 500 ? 'failed' : 'rejected'} ${errorCode}${times}`),
      paint: 'fault',
      rank: 0,
    },
    { text: printable(message), rank: 1 },
    { text: printable(reason), rank: 2 },
  ]
}

/** A requested model is quoted, because it may be any text. */
function modelText(call: LoggedCall): string {
  if (!isRejection(call)) return call.publication
  return call.askedModel === undefined ? '' : JSON.stringify(call.askedModel)
}

function fitting(parts: readonly Part[], width: number | undefined): readonly Part[] {
  let shown = parts.filter(({ text }) => text !== '')
  if (width === undefined) return shown
  const length = () => shown.reduce((sum, { text }) => sum + textWidth(text), 2 * (shown.length - 1))
  while (length() > width) {
    const last = Math.max(...shown.map(({ rank }) => rank))
    if (last === 0) break
    shown = shown.filter(({ rank }) => rank !== last)
  }
  return shown
}

/** Empty for an answered first attempt. */
function outcomeText({ outcome, errorCode, attempts }: StoredCall): string {
  const tries = attempts > 1 ? `${attempts} attempts` : ''
  const ended = outcome === 'answered' ? '' : outcome
  return [ended, errorCode ?? '', tries]
    .filter(part => part !== '')
    .map(printable)
    .join(' ')
}

/** `120 (64 cached) → 45`, `12.5 s of audio`, `2 images`: tokens, unless there are only other units. */
export function usageText(usage: Usage | undefined): string {
  if (!usage) return ''
  const { inputTokens, cachedInputTokens, outputTokens, searchUnits, durationMs, characters, images } = usage
  const units = [
    ...(searchUnits > 0 ? [pluralize(searchUnits, 'search unit')] : []),
    ...(durationMs > 0 ? [`${durationMs / 1_000} s of audio`] : []),
    ...(characters > 0 ? [pluralize(characters, 'character')] : []),
    ...(images > 0 ? [pluralize(images, 'image')] : []),
  ]
  if (units.length > 0 && inputTokens === 0 && outputTokens === 0) return units.join(', ')
  const cached = cachedInputTokens > 0 ? ` (${cachedInputTokens} cached)` : ''
  return [`${inputTokens}${cached} → ${outputTokens}`, ...units].join(', ')
}

function paintOf(status: number): 'added' | 'changed' | 'fault' {
  if (status >= 500 || status < 200) return 'fault'
  return status >= 400 ? 'changed' : 'added'
}

function widest(before: number, names: readonly string[]): number {
  return Math.min(WIDEST_NAME, Math.max(before, ...names.map(name => textWidth(printable(name)))))
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)))
}
