import { reply } from './answers.ts'
import type { Answer } from './scripted-upstream.ts'

const OF_CONNECTIONS = new Set(['connection', 'content-length', 'host', 'keep-alive', 'transfer-encoding'])

/** Answers as another server does: sends it each request as it came, and gives its answer back, whole. */
export function forward(url: string): Answer {
  return async exchange => {
    const { method, target, headerLines, body } = exchange.request
    const answer = await fetch(url + target, {
      method,
      headers: endToEnd(headerLines),
      ...(body.length > 0 && { body: Uint8Array.from(body) }),
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    await reply({ status: answer.status, headers: endToEnd([...answer.headers]), body: bytes })(exchange)
  }
}

function endToEnd(lines: readonly (readonly [string, string])[]): [string, string][] {
  return lines
    .filter(([name]) => !OF_CONNECTIONS.has(name.toLowerCase()))
    .map(([name, value]) => [name, value])
}
