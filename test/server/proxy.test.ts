import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { gwProcess, startGw } from '../cli/process.ts'
import { json } from '../support/answers.ts'
import { certificate } from '../support/certificate.ts'
import { forwardProxy } from '../support/forward-proxy.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { wholeGateway } from '../support/whole-gateway.ts'

const ANSWER = {
  id: 'c',
  object: 'chat.completion',
  model: 'served',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
}
const file = (baseUrl: string, more = '') => `
version: 1
endpoints: { main: { protocol: openai, base_url: "${baseUrl}/v1", served_model: served${more} } }
publications: { m: { bindings: [{ endpoint: main }] } }
keys: { app: { kind: platform, secret: { env: APP_KEY } } }
`
const APP_KEY = 'sk-a-secret-of-their-own-0123456789'
const BODY = JSON.stringify({ model: 'm', messages: [] })

async function chat(gatewayUrl: string) {
  const answer = await fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${APP_KEY}` },
    body: BODY,
  })
  return { status: answer.status, body: (await answer.json()) as { model?: string; error?: unknown } }
}

describe('a gateway behind a proxy', () => {
  async function scene(more: string, environment: (port: number) => Record<string, string>) {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(json(ANSWER))
    const proxy = await forwardProxy(onTestFinished)
    const files = tempDir(onTestFinished)
    const config = files.write('gw.yaml', file(upstream.url, more.replace('PORT', String(proxy.port))))
    const gateway = await wholeGateway(onTestFinished, config, { APP_KEY, ...environment(proxy.port) })
    return { upstream, proxy, gateway, config, files }
  }

  test('reaches an http upstream by HTTP_PROXY, with its own name as the host and the same bytes', async () => {
    const { upstream, proxy, gateway } = await scene('', port => ({
      HTTP_PROXY: `http://user:p%40ss@127.0.0.1:${port}`,
    }))
    expect(await chat(gateway.gatewayUrl)).toMatchObject({ status: 200, body: { model: 'm' } })
    const basic = `Basic ${Buffer.from('user:p@ss').toString('base64')}`
    expect(proxy.seen).toEqual([{ asked: `POST ${upstream.url}/v1/chat/completions`, authorization: basic }])
    expect(upstream.lastRequest.header('host')).toBe(new URL(upstream.url).host)
    expect(upstream.lastRequest.header('proxy-authorization')).toBeUndefined()
  })

  test('goes directly where NO_PROXY says so, or the endpoint says `none`', async () => {
    const listed = await scene('', port => ({
      HTTP_PROXY: `http://127.0.0.1:${port}`,
      NO_PROXY: 'localhost,127.0.0.1',
    }))
    expect(await chat(listed.gateway.gatewayUrl)).toMatchObject({ status: 200 })
    const none = await scene(', proxy: none', port => ({ HTTP_PROXY: `http://127.0.0.1:${port}` }))
    expect(await chat(none.gateway.gatewayUrl)).toMatchObject({ status: 200 })
    expect([...listed.proxy.seen, ...none.proxy.seen]).toEqual([])
  })

  test('takes the proxy of the endpoint before that of the environment, and another one without a restart', async () => {
    const other = await forwardProxy(onTestFinished)
    const { upstream, proxy, gateway, files } = await scene(', proxy: "http://127.0.0.1:PORT"', () => ({
      HTTP_PROXY: 'http://127.0.0.1:9',
    }))
    expect(await chat(gateway.gatewayUrl)).toMatchObject({ status: 200 })
    expect(proxy.seen).toHaveLength(1)
    const reloaded = gateway.reloaded()
    await gateway.apply(
      files.write('gw.yaml', file(upstream.url, `, proxy: "http://127.0.0.1:${other.port}"`)),
    )
    await reloaded
    expect(await chat(gateway.gatewayUrl)).toMatchObject({ status: 200 })
    expect([proxy.seen.length, other.seen.length]).toEqual([1, 1])
  })

  test('answers 502 where the proxy is not there, and never goes past it', async () => {
    const { upstream, gateway } = await scene('', () => ({ HTTP_PROXY: 'http://127.0.0.1:9' }))
    expect(await chat(gateway.gatewayUrl)).toMatchObject({ status: 502 })
    expect(upstream.requests).toEqual([])
    expect(gateway.log.join('\n')).toContain('the proxy cannot be reached (ECONNREFUSED)')
  })
})

describe('an https upstream', () => {
  async function secureUpstream(dir: TempDir) {
    const authority = certificate({ names: ['Test authority'], isAuthority: true })
    const server = createServer(certificate({ names: ['127.0.0.1'], issuer: authority }), (req, res) => {
      req.resume()
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify(ANSWER))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    return { url: `https://127.0.0.1:${port}`, port, ca: dir.write('ca.pem', authority.cert) }
  }

  test('is reached through a tunnel, TLS from end to end, by gw probe and gw serve alike; a rejection of the proxy is named', async () => {
    const dir = tempDir(onTestFinished)
    const upstream = await secureUpstream(dir)
    const proxy = await forwardProxy(onTestFinished)
    dir.write('gw.yaml', file(upstream.url))
    const world = {
      cwd: dir.path,
      environment: {
        APP_KEY,
        NODE_EXTRA_CA_CERTS: upstream.ca,
        https_proxy: `http://127.0.0.1:${proxy.port}`,
      },
    }
    const applied = await gwProcess(['apply', '--yes'], world)
    expect(applied).toMatchObject({ exit: 0, stdout: expect.stringContaining('1 probe: all ok.') })
    const tunnel = { asked: `CONNECT 127.0.0.1:${upstream.port}`, authorization: undefined }
    expect(proxy.seen).toEqual([tunnel])

    const { child } = startGw(['serve', '--gateway-only', '--listen', '127.0.0.1:0'], { ...world, stdin: '' })
    onTestFinished(() => void child.kill('SIGKILL'))
    let text = ''
    child.stderr.on('data', (piece: Buffer) => {
      text += piece.toString()
    })
    await expect.poll(() => text, { timeout: 20_000 }).toMatch(/Gateway on \S+\n/)
    const [, url = ''] = /Gateway on (\S+)/.exec(text) ?? []
    expect(await chat(url)).toMatchObject({ status: 200, body: { model: 'm' } })
    expect(await chat(url)).toMatchObject({ status: 200 })
    // The second call took the same tunnel.
    expect(proxy.seen).toEqual([tunnel, tunnel])

    proxy.reject(407)
    const probed = await gwProcess(['probe'], world)
    expect(probed.exit).toBe(5)
    expect(probed.stdout + probed.stderr).toMatch(/proxy 127\.0\.0\.1:\d+ opens no tunnel: answered 407/)
  })
})
