import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { rawClient } from '../raw-client.ts'
import { BODIES } from './bodies.ts'
import { FRAMING } from './framing.ts'
import { HEADS, MISSED } from './heads.ts'
import { type HostileCase, hostileScene, PATHS, rejection, saying } from './scene.ts'

const { gateway, key, expectUntouched } = await hostileScene(afterAll)
afterEach(expectUntouched)

async function rejects(hostile: HostileCase): Promise<void> {
  for (const [path, protocol] of PATHS) {
    const client = await rawClient(onTestFinished, gateway.url)
    await client.write(hostile.bytes(path, key))
    const answer = await client.answer()
    expect(answer.json()).toEqual(rejection(hostile, hostile.pathless ? 'openai' : protocol))
    expect(answer.status).toBe(hostile.status)
    expect(answer.values('content-type')).toEqual(['application/json'])
    expect(answer.values('x-request-id')).toEqual([expect.stringMatching(/^req_[0-9a-f]{24}$/)])
    if (hostile.closes) {
      expect(answer.values('connection')).toEqual(['close'])
      await client.closed
      continue
    }
    // What is left of the request is not read as a next one.
    await client.write(saying('/v1/models', key, { method: 'GET', body: '' }))
    expect((await client.answer()).json()).toMatchObject({ object: 'list' })
  }
}

describe('a message that two servers could cut in two ways reaches no upstream, and its connection ends', () => {
  it.each(FRAMING)('$title', rejects)
})

describe('a head that is no HTTP for this gateway reaches no upstream, and its connection ends', () => {
  it.each(HEADS)('$title', rejects)
})

describe('what is not there is missed in the shape of its path', () => {
  it.each(MISSED)('$title', rejects)
})

describe('a body that must not pass costs nothing, and the next request is served', () => {
  it.each(BODIES)('$title', rejects)
})
