import { expect } from 'vitest'
import type { TestGateway } from '../support/gateway.ts'
import type { WhenOver } from '../support/when-over.ts'
import { rawPost } from './calls.ts'
import { type RawClient, rawClient } from './raw-client.ts'

/** Requests and answers of streams, byte by byte. */
export const STREAM = '{"model":"ext-both","stream":true,"stream_options":{"include_usage":true}}'
export const PLAIN = '{"model":"ext-both"}'
export const event = (content: string) =>
  `data: {"model":"served-oai","choices":[{"delta":{"content":"${content}"}}]}\n\n`
export const named = (content: string) => event(content).replace('served-oai', 'ext-both')
export const HEAD = 'HTTP/1.1 200 Ok\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
export const JSON_HEAD = HEAD.replace('text/event-stream', 'application/json')

/** Sends a request on a connection of its own. */
export async function ask(
  whenOver: WhenOver,
  gateway: TestGateway,
  path: string,
  body: string,
): Promise<RawClient> {
  const client = await rawClient(whenOver, gateway.url)
  await client.write(rawPost(gateway, path, body))
  return client
}

export const openaiError = (code: string) => ({
  error: { message: expect.any(String), type: 'server_error', param: null, code },
})
