import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { freePort } from './free-port.ts'
import { tempDir } from './temp-dir.ts'
import { tinyModel } from './tiny-model.ts'
import type { WhenOver } from './when-over.ts'

/** A Python that has the package `xllamacpp`, with the server of llama.cpp in it: `npm run engine` names one. */
const PYTHON = process.env['GW_LLAMA_PYTHON']
export const hasLlamaCpp = PYTHON !== undefined

const MODEL = 'tiny'
/** Answers at a time; others wait. */
export const SLOTS = 4
const SERVER = `
import sys, threading, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.model_alias = sys.argv[1], {'${MODEL}'}
params.hostnames, params.port = ['127.0.0.1'], int(sys.argv[2])
params.n_ctx, params.n_parallel = 4096 * ${SLOTS}, ${SLOTS}
params.endpoint_metrics = True
server = xllamacpp.Server(params)
threading.Event().wait()
`

/** A real engine, with a model that says nothing of sense. */
export interface LlamaCpp {
  readonly model: string
  readonly port: number
  /** Without a chance to say good-bye. */
  kill(): Promise<void>
  /** At the same port. */
  start(): Promise<void>
}

export async function llamaCpp(whenOver: WhenOver): Promise<LlamaCpp> {
  const dir = tempDir(whenOver)
  const path = dir.write('tiny.gguf', tinyModel())
  const port = await freePort()
  let child: ReturnType<typeof spawn> | undefined
  const engine: LlamaCpp = {
    model: MODEL,
    port,
    async kill() {
      const running = child
      child = undefined
      if (!running) return
      running.kill('SIGKILL')
      await once(running, 'exit')
    },
    async start() {
      const output: string[] = []
      const started = spawn(PYTHON ?? '', ['-c', SERVER, path, String(port)], {
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child = started
      for (const stream of [started.stdout, started.stderr])
        stream?.on('data', (bytes: Buffer) => output.push(bytes.toString()))
      for (;;) {
        if (started.exitCode !== null) throw new Error(`llama.cpp did not start:\n${output.join('')}`)
        const isUp = await fetch(`http://127.0.0.1:${port}/health`).then(
          ({ ok }) => ok,
          () => false,
        )
        if (isUp) return
        await new Promise(resolve => setTimeout(resolve, 50))
      }
    },
  }
  whenOver(() => engine.kill())
  await engine.start()
  return engine
}
