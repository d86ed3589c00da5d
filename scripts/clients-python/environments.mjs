/** Virtual environments with pinned Python packages. One that is complete is used again until its pins change. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/gw-clients-python/', import.meta.url))
const OLDEST_PYTHON = [3, 11]
const COMPLETE = 'complete'

/** A reason to end that needs no stack. */
export class Failure extends Error {}

/**
 * Makes the environment of `requirements-NAME.txt`, or finds the one that was made before.
 *
 * @returns the path of its interpreter.
 */
export async function environment(name) {
  const requirements = fileURLToPath(new URL(`requirements-${name}.txt`, import.meta.url))
  const system = process.env.PYTHON ?? 'python3'
  const version = await pythonVersion(system)
  const digest = createHash('sha256').update(version).update(readFileSync(requirements)).digest('hex')
  const folder = join(CACHE, `${name}-${digest.slice(0, 16)}`)
  const python = join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python')
  if (existsSync(join(folder, COMPLETE))) return python
  console.error(`· installing ${name}: ${requirements}`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(CACHE, { recursive: true })
  const made = await run(system, ['-m', 'venv', folder])
  if (made.code !== 0) {
    throw new Failure(
      `${system} cannot make a virtual environment; on Debian the package python3-venv is missing:\n${made.output}`,
    )
  }
  const pip = ['-m', 'pip', '--disable-pip-version-check', '--quiet']
  // The pins name every package, so nothing is left to resolve; `check` tells where they do not.
  const installed = await run(python, [
    ...pip,
    'install',
    '--no-compile',
    '--no-deps',
    '--requirement',
    requirements,
  ])
  if (installed.code !== 0) {
    throw new Failure(
      `The packages of ${requirements} cannot be installed; is PyPI out of reach?\n${installed.output}`,
    )
  }
  const checked = await run(python, [...pip, 'check'])
  if (checked.code !== 0) throw new Failure(`${requirements} does not fit together:\n${checked.output}`)
  writeFileSync(join(folder, COMPLETE), '')
  return python
}

async function pythonVersion(python) {
  const asked = await run(python, ['-c', 'import sys; print("%d.%d.%d" % sys.version_info[:3])'])
  const version = asked.output.trim()
  const [major, minor] = version.split('.').map(Number)
  const oldest = OLDEST_PYTHON.join('.')
  if (asked.code !== 0) {
    throw new Failure(`Python ${oldest} or newer is needed, and ${python} does not run: ${asked.output}`)
  }
  if (major < OLDEST_PYTHON[0] || (major === OLDEST_PYTHON[0] && minor < OLDEST_PYTHON[1])) {
    throw new Failure(`Python ${oldest} or newer is needed; ${python} is ${version}. PYTHON names another.`)
  }
  return version
}

/** Runs a command to its end; a command that cannot be started has the code -1. */
async function run(command, args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => (output += text))
  try {
    const [code] = await once(child, 'close')
    return { code, output }
  } catch (error) {
    return { code: -1, output: error.message }
  }
}
