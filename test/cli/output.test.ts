import { EventEmitter } from 'node:events'
import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { CommandError } from '../../src/base/catalogue/command.ts'
import type { Format } from '../../src/cli/format.ts'
import { openOutput } from '../../src/cli/output/output.ts'
import type { ColourWhen } from '../../src/cli/output/style.ts'

interface Options {
  readonly format?: Format
  readonly when?: ColourWhen
  readonly terminal?: boolean
  readonly environment?: Record<string, string>
  readonly fault?: string
}

function opened({ format = 'text', when = 'auto', terminal = false, environment = {}, fault }: Options = {}) {
  const written = { stdout: '', stderr: '' }
  const sink = (name: 'stdout' | 'stderr', breaks?: string) =>
    Object.assign(
      new Writable({
        write(chunk: Buffer, _encoding, done) {
          if (breaks) return done(Object.assign(new Error(`write ${breaks}`), { code: breaks }))
          written[name] += chunk.toString()
          done()
        },
      }),
      { isTTY: terminal, columns: 80 },
    )
  const io = {
    stdout: sink('stdout', fault),
    stderr: sink('stderr'),
    environment,
    signals: new EventEmitter(),
    exit: () => undefined,
  }
  const out = openOutput(io as unknown as Parameters<typeof openOutput>[0], format, when)
  return { out, written }
}

describe('colours', () => {
  const error = new CommandError('not_confirmed')
  it.each<[string, Options, boolean]>([
    ['are used on a terminal', { terminal: true }, true],
    ['are not used in a pipe', { terminal: false }, false],
    ['are not used with NO_COLOR', { terminal: true, environment: { NO_COLOR: '1' } }, false],
    [
      'are used with an empty NO_COLOR, as no-color.org says',
      { terminal: true, environment: { NO_COLOR: '' } },
      true,
    ],
    ['are not used on a dumb terminal', { terminal: true, environment: { TERM: 'dumb' } }, false],
    ['are used in a pipe with --color always', { when: 'always' }, true],
    ['are not used on a terminal with --color never', { terminal: true, when: 'never' }, false],
  ])('%s', async (_title, options, coloured) => {
    const { out, written } = opened(options)
    out.fail(error)
    await out.flush()
    expect(written.stderr.includes('\u001B[')).toBe(coloured)
  })
})

describe('a failure', () => {
  it('goes to stderr with its code, its message and what to do, and leaves stdout empty', async () => {
    const { out, written } = opened()
    expect(out.fail(new CommandError('revision_changed'))).toBe(4)
    await out.flush()
    expect(written).toEqual({
      stdout: '',
      stderr:
        'error GW4001: The configuration has changed since the plan was made.\n' +
        '  hint: Run the command again to plan against the new revision; nothing was changed.\n',
    })
  })

  it('is one JSON document on stdout with --format json', async () => {
    const { out, written } = opened({ format: 'json' })
    expect(out.fail(new CommandError('not_found', 'no such key', { hint: 'look' }))).toBe(4)
    await out.flush()
    expect(written.stderr).toBe('')
    expect(JSON.parse(written.stdout)).toEqual({
      error: { code: 'GW4005', message: 'no such key', hint: 'look' },
    })
  })

  it('of the unexpected kind is GW9001 with its first line, and shows no stack', async () => {
    const { out, written } = opened()
    expect(out.fail(new TypeError('x is not a function\nmore'))).toBe(1)
    await out.flush()
    expect(written.stderr).toContain('error GW9001: An unexpected error: x is not a function\n')
    expect(written.stderr).not.toContain('at ')
  })

  it('shows what is behind it as well to who asks with GW_DEBUG=1, and nothing that hangs on it', () => {
    const { out, written } = opened({ environment: { GW_DEBUG: '1' } })
    const behind = Object.assign(new Error('the pipe burst'), { headers: { authorization: 'CANARY' } })
    out.fail(new Error('no water', { cause: behind }))
    expect(written.stderr).toMatch(/Error: no water[\s\S]*caused by Error: the pipe burst/)
    expect(written.stderr).not.toContain('CANARY')
  })

  it('shows its stack to who asks with GW_DEBUG=1, on stderr also in JSON', async () => {
    const { out, written } = opened({ format: 'json', environment: { GW_DEBUG: '1' } })
    out.fail(new TypeError('oops'))
    await out.flush()
    expect(written.stderr).toMatch(/TypeError: oops\n\s+at /)
    expect(JSON.parse(written.stdout)).toHaveProperty('error.code', 'GW9001')
  })
})

describe('a stream that breaks', () => {
  it('is no failure where the reader has left', async () => {
    const { out } = opened({ fault: 'EPIPE' })
    out.result({ text: () => 'much\n', json: () => null })
    out.result({ text: () => 'more\n', json: () => null })
    expect(await out.flush()).toBeUndefined()
  })

  it('is one where the disk is full', async () => {
    const { out } = opened({ fault: 'ENOSPC' })
    out.result({ text: () => 'much\n', json: () => null })
    expect(await out.flush()).toMatchObject({ code: 'ENOSPC' })
  })
})
