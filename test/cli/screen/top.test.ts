import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { showTop } from '../../../src/cli/screen/top.tsx'
import type { LiveStats } from '../../../src/services/live-stats/types.ts'
import { busyLiveStats } from './pulse.ts'

const ENTER = '\u001B[?1049h'
const LEAVE = '\u001B[?1049l\u001B[?25h'

function terminal() {
  let written = ''
  let raw = false
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 })
  stdout.on('data', (chunk: Buffer) => {
    written += chunk.toString()
  })
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (mode: boolean) => {
      raw = mode
    },
    ref: () => undefined,
    unref: () => undefined,
  })
  const exits = new EventEmitter()
  return { stdout, stdin, exits, written: () => written, isRaw: () => raw }
}

function shown(
  looks: (quit: AbortSignal) => AsyncIterable<LiveStats>,
  signal = new AbortController().signal,
) {
  const { stdout, stdin, exits, ...state } = terminal()
  const over = showTop(looks, {
    stdin,
    stdout,
    stderr: new PassThrough(),
    hasColour: false,
    signal,
    onExit(restore) {
      exits.on('exit', restore)
      return () => exits.off('exit', restore)
    },
  })
  return { over, stdin, exits, ...state }
}

/** One look, and then none until the end. */
async function* one(quit: AbortSignal): AsyncGenerator<LiveStats> {
  yield busyLiveStats()
  if (!quit.aborted) await new Promise(resolve => quit.addEventListener('abort', resolve, { once: true }))
}

describe('the terminal', () => {
  it('is restored when the user quits', async () => {
    const { over, stdin, written, isRaw, exits } = shown(one)
    await expect.poll(() => isRaw()).toBe(true)
    stdin.write('q')
    await over
    expect(written().startsWith(ENTER)).toBe(true)
    expect(written()).toContain('azure-europe')
    expect(written().endsWith(LEAVE)).toBe(true)
    expect(isRaw()).toBe(false)
    expect(exits.listenerCount('exit')).toBe(0)
  })

  it('is given back when a signal comes', async () => {
    const interrupt = new AbortController()
    const { over, written, isRaw } = shown(one, interrupt.signal)
    await expect.poll(() => isRaw()).toBe(true)
    interrupt.abort()
    await over
    expect(written().endsWith(LEAVE)).toBe(true)
    expect(isRaw()).toBe(false)
  })

  it('is restored when a sample fails, which is reported', async () => {
    const { over, written, isRaw } = shown(async function* () {
      yield busyLiveStats()
      throw new Error('the store has gone')
    })
    await expect(over).rejects.toThrow('the store has gone')
    expect(written().endsWith(LEAVE)).toBe(true)
    expect(isRaw()).toBe(false)
  })

  it('is given back when the process ends in between', async () => {
    const interrupt = new AbortController()
    const { over, written, isRaw, exits } = shown(one, interrupt.signal)
    await expect.poll(() => isRaw()).toBe(true)
    exits.emit('exit')
    expect(written()).toContain(LEAVE)
    interrupt.abort()
    await over
  })
})
