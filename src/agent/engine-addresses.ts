import { isEngineName } from '../tunnel/control.ts'
import { checkEngine, type EngineAddress } from './engine.ts'

/** Where engines listen unless they are configured otherwise. */
export const USUAL_PORTS: readonly number[] = [8000, 30000, 8080, 11434, 1234, 3000]
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/

export class EngineOptionError extends Error {
  override readonly name = 'EngineOptionError'
}

/**
 * Reads `--engine URL` or `--engine NAME=URL`. The name of a URL alone is the kind of its engine, such as `vllm`, if that is
 * known, else `engine`.
 *
 * @param allowsAddress also addresses that are not of this machine
 * @throws {EngineOptionError}
 */
export async function engineAddress(text: string, allowsAddress: boolean): Promise<EngineAddress> {
  const [, name, rest] = /^([^=/:]+)=(.+)$/.exec(text) ?? []
  const url = URL.canParse(rest ?? text) ? new URL(rest ?? text) : undefined
  if (name !== undefined && !isEngineName(name))
    throw new EngineOptionError(
      `${text} has no name of an engine: lower-case letters, digits and . _ - only.`,
    )
  if (url?.protocol !== 'http:' || url.pathname !== '/' || url.search !== '' || url.username !== '')
    throw new EngineOptionError(
      `${text} is no address of an engine: write http://127.0.0.1:8000, without a path.`,
    )
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (!allowsAddress && !LOOPBACK.test(host))
    throw new EngineOptionError(`${host} is not this machine: pass --allow-address if that is intended.`)
  const address = { host, port: url.port === '' ? 80 : Number(url.port) }
  if (name !== undefined) return { name, ...address }
  const { kind = 'engine' } = await checkEngine({ name: 'engine', ...address })
  return { name: kind, ...address }
}

/** The engines that answer on ports of this machine, each by its kind. */
export async function discoverEngines(ports: readonly number[]): Promise<readonly EngineAddress[]> {
  const found: EngineAddress[] = []
  const checked = await Promise.all(
    ports.map(async port => {
      const address = { name: 'engine', host: '127.0.0.1', port }
      return { address, engine: await checkEngine(address) }
    }),
  )
  for (const { address, engine } of checked) {
    if (engine.state === 'down' || engine.kind === undefined) continue
    const isTaken = found.some(({ name }) => name === engine.kind)
    found.push({ ...address, name: isTaken ? `${engine.kind}-${address.port}` : engine.kind })
  }
  return found
}
