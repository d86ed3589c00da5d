import { EventEmitter } from 'node:events'
import { Readable, Writable } from 'node:stream'
import type { ExitCode } from '../../src/base/catalogue/command.ts'
import type { Clock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { Sink, Source } from '../../src/cli/io.ts'
import { run } from '../../src/cli/main.ts'
import { isPostgresUrl } from '../../src/store/url.ts'
import { databaseOf, nameServer } from '../support/postgres.ts'
import { testClock } from '../support/test-clock.ts'
import { ON_POSTGRES } from '../support/test-engine.ts'

export interface World {
  /** Where the command runs; the paths of `-c` start from here. */
  readonly cwd: string
  readonly environment?: Readonly<Record<string, string>>
  readonly clock?: Clock
  /** What is piped in; on a terminal what is typed, perhaps after something happened. Left open where absent. */
  readonly stdin?: string | (() => Promise<string>)
  /** Columns of the terminal; without it there is none. */
  readonly terminal?: number
  /** Breaks every write to stdout with this error code. */
  readonly stdoutFault?: string
  readonly signals?: EventEmitter
  /** That of the build, for what has threads: they run compiled modules. */
  readonly isBuilt?: boolean
  /** Sees each piece of stderr as it comes. */
  readonly onTalk?: (text: string) => void
}

export interface Ended {
  readonly exit: ExitCode
  readonly stdout: string
  readonly stderr: string
}

const BUILT = new URL('../../dist/cli/main.js', import.meta.url).href

/** Runs `gw` inside the test's own process, with every part of its world under the test's control. */
export async function gw(argv: readonly string[], world: World): Promise<Ended> {
  const stdout = new Capture(world.terminal, undefined, world.stdoutFault)
  const stderr = new Capture(world.terminal, world.onTalk)
  let asked = false
  const stdin: Source = Object.assign(
    new Readable({
      read() {
        const { stdin: typed } = world
        if (typed === undefined || asked) return
        asked = true
        const type = (text: string) => {
          this.push(text)
          this.push(null)
        }
        if (typeof typed === 'string') type(typed)
        else typed().then(type, (error: Error) => this.destroy(error))
      },
    }),
    { isTTY: world.terminal !== undefined },
  )
  try {
    const main = world.isBuilt ? ((await import(BUILT)) as { readonly run: typeof run }) : { run }
    const exit = await main.run(argv, {
      stdout,
      stderr,
      stdin,
      environment: await environmentOf(argv, world),
      cwd: world.cwd,
      clock: world.clock ?? testClock(),
      random: systemRandom,
      signals: world.signals ?? new EventEmitter(),
      exit: () => undefined,
    })
    return { exit, stdout: stdout.text, stderr: stderr.text }
  } finally {
    stdin.destroy()
  }
}

/** In `npm run postgres` each folder has a database of its own. */
async function environmentOf(
  argv: readonly string[],
  { cwd, environment = {} }: World,
): Promise<Readonly<Record<string, string>>> {
  if (!ON_POSTGRES) return environment
  const { GW_STORE = await databaseOf(cwd) } = environment
  const named = argv[argv.indexOf('--store') + 1] ?? ''
  const direct = await nameServer(isPostgresUrl(named) ? named : GW_STORE)
  return { GW_STORE, ...direct, ...environment }
}

class Capture extends Writable implements Sink {
  text = ''
  readonly isTTY: boolean
  readonly columns: number | undefined
  readonly #watch: ((text: string) => void) | undefined
  readonly #fault: string | undefined

  constructor(columns: number | undefined, watch?: (text: string) => void, fault?: string) {
    super({ decodeStrings: true })
    this.isTTY = columns !== undefined
    this.columns = columns
    this.#watch = watch
    this.#fault = fault
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#fault) return done(Object.assign(new Error(`write ${this.#fault}`), { code: this.#fault }))
    this.text += chunk.toString()
    this.#watch?.(chunk.toString())
    done()
  }
}
