import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { json } from '../support/answers.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { tempDir } from '../support/temp-dir.ts'
import { wholeGateway } from '../support/whole-gateway.ts'

test('a secret file that is written anew, of a credential or of a header, is used within a second or two, without an apply; one that is gone leaves the old secret in use', {
  timeout: 60_000,
}, async () => {
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(json({ usage: { prompt_tokens: 1, completion_tokens: 1 } }))
  const files = tempDir(onTestFinished)
  const secret = files.write('key', 'sk-first\n')
  const config = files.write(
    'gw.yaml',
    `
version: 1
endpoints:
  main: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served, upstream_key: { file: ${secret} }, headers: { api-key: { file: ${secret} } } }
publications:
  m: { bindings: [{ endpoint: main }] }
keys:
  admin: { kind: platform }
`,
  )
  const gateway = await wholeGateway(onTestFinished, config)
  const key = await gateway.issue('admin')
  const usedSecret = async () => {
    const answer = await fetch(`${gateway.gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'm', messages: [] }),
    })
    expect(answer.status).toBe(200)
    const request = upstream.requests.at(-1)
    return [request?.header('authorization'), request?.header('api-key')]
  }
  expect(await usedSecret()).toEqual(['Bearer sk-first', 'sk-first'])

  const reloaded = gateway.reloaded()
  files.write('key', 'sk-the-second\n')
  await reloaded
  expect(await usedSecret()).toEqual(['Bearer sk-the-second', 'sk-the-second'])

  const rejected = gateway.logged('cannot serve revision')
  rmSync(secret)
  expect(await rejected).not.toContain('sk-the-second')
  expect(await usedSecret()).toEqual(['Bearer sk-the-second', 'sk-the-second'])
})
