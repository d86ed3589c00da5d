import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { tlsMaterial } from '../../src/base/tls-material.ts'
import { ClientPool } from '../../src/upstream/pools.ts'
import { gw } from '../cli/in-process.ts'
import { certificate } from '../support/certificate.ts'
import { forwardProxy } from '../support/forward-proxy.ts'
import { secureUpstream } from '../support/secure-upstream.ts'
import { tempDir } from '../support/temp-dir.ts'
import { responseOn } from '../support/upstream-response.ts'
import { wholeGateway } from '../support/whole-gateway.ts'

const ANSWER = {
  id: 'c',
  object: 'chat.completion',
  model: 'served',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
}
const APP_KEY = 'sk-a-secret-of-their-own-0123456789'

async function scene() {
  const upstream = await secureUpstream(onTestFinished, ANSWER)
  const files = tempDir(onTestFinished)
  const ca = files.write('ca.pem', upstream.authority.cert)
  /** Writes certificate and key of a client, and gives the field of an endpoint. */
  const client = (name: string, common = name) => {
    const { cert, key } = certificate({ names: [common], issuer: upstream.authority })
    const paths = { cert: files.write(`${name}.pem`, cert), key: files.write(`${name}.key`, key) }
    return {
      tls: `tls: { ca: { file: ${ca} }, cert: { file: ${paths.cert} }, key: { file: ${paths.key} } }`,
      key,
    }
  }
  const config = (endpoints: Readonly<Record<string, string>>) =>
    files.write(
      'gw.yaml',
      `version: 1
endpoints:
${Object.entries(endpoints)
  .map(
    ([name, more]) =>
      `  ${name}: { protocol: openai, base_url: "${upstream.url}/v1", served_model: m, ${more} }`,
  )
  .join('\n')}
publications: { ${Object.keys(endpoints)
        .map(name => `${name}: { bindings: [{ endpoint: ${name} }] }`)
        .join(', ')} }
keys: { app: { kind: platform, secret: { env: APP_KEY } } }
`,
    )
  return { upstream, files, client, config }
}

async function call(gatewayUrl: string, model: string): Promise<number> {
  const answer = await fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${APP_KEY}` },
    body: JSON.stringify({ model, messages: [] }),
  })
  await answer.arrayBuffer()
  return answer.status
}

describe('an upstream that demands a client certificate', () => {
  test('gets that of the endpoint, on connections of its own; others get none', async () => {
    const { upstream, client, config } = await scene()
    const path = config({ a: client('a').tls, b: client('b').tls, bare: 'labels: {}' })
    const gateway = await wholeGateway(onTestFinished, path, { APP_KEY })
    for (const model of ['a', 'b', 'a', 'b']) expect(await call(gateway.gatewayUrl, model)).toBe(200)
    expect(upstream.clients).toEqual(['a', 'b', 'a', 'b'])
    expect(upstream.connections()).toBe(2)
    expect(await call(gateway.gatewayUrl, 'bare')).toBe(502)
    expect(upstream.clients).toHaveLength(4)
  })

  test('gets it through the tunnel of a proxy', async () => {
    const { upstream, client, config } = await scene()
    const proxy = await forwardProxy(onTestFinished)
    const path = config({ a: `${client('a').tls}, proxy: "http://127.0.0.1:${proxy.port}"` })
    const gateway = await wholeGateway(onTestFinished, path, { APP_KEY })
    expect(await call(gateway.gatewayUrl, 'a')).toBe(200)
    expect([upstream.clients, proxy.seen.length]).toEqual([['a'], 1])
  })

  test('gets a renewed one without an apply; while certificate and key differ, the old one stays', {
    timeout: 30_000,
  }, async () => {
    const { upstream, files, client, config } = await scene()
    const gateway = await wholeGateway(onTestFinished, config({ a: client('a', 'old').tls }), { APP_KEY })
    expect(await call(gateway.gatewayUrl, 'a')).toBe(200)
    const { cert, key } = certificate({ names: ['new'], issuer: upstream.authority })
    const rejected = gateway.logged('cannot serve revision')
    files.write('a.pem', cert)
    expect(await rejected).toContain('tls.key is not the private key of the first certificate in tls.cert')
    expect(await call(gateway.gatewayUrl, 'a')).toBe(200)
    const reloaded = gateway.reloaded()
    files.write('a.key', key)
    await reloaded
    expect(await call(gateway.gatewayUrl, 'a')).toBe(200)
    expect(upstream.clients).toEqual(['old', 'old', 'new'])
    expect(gateway.log.join('')).not.toContain('PRIVATE KEY')
    const [, line = ''] = key.split('\n')
    expect(gateway.log.join('')).not.toContain(line)
  })
})

test('certificates that OpenSSL rejects are an error of the connection, through a proxy too', async () => {
  const { upstream } = await scene()
  const proxy = await forwardProxy(onTestFinished)
  const { cert } = certificate({ names: ['gw'], issuer: upstream.authority })
  const tls = tlsMaterial({ ca: undefined, cert, key: certificate({ names: ['other'] }).key })
  for (const address of [undefined, `http://127.0.0.1:${proxy.port}`]) {
    const pool = new ClientPool({ origin: upstream.url, connectMs: 5_000, proxy: address, tls }, systemClock)
    onTestFinished(() => pool.destroy())
    expect(await responseOn(pool.take(), 'GET / HTTP/1.1\r\nhost: x\r\n\r\n')).toMatchObject({
      error: expect.objectContaining({
        message: expect.stringMatching(/key values mismatch/) as string,
      }) as Error,
    })
  }
})

test('gw apply probes with the certificates, and names an unusable one without a word of it', async () => {
  const { files, client, config } = await scene()
  const a = client('a')
  config({ a: a.tls })
  const run = (line: string) => gw(line.split(' '), { cwd: files.path, environment: { APP_KEY } })
  expect(await run('apply --yes')).toMatchObject({ exit: 0 })
  expect((await run('export')).stdout).toContain('file: ')
  files.write('a.pem', certificate({ names: ['another'] }).cert)
  const { exit, stdout, stderr } = await run('probe')
  expect(exit).toBe(5)
  expect(stdout).toContain('tls.key is not the private key of the first certificate in tls.cert')
  expect(stdout).toContain('hint:  `tls` refers to PEM text')
  files.write('a.key', 'sk-canary-of-a-key')
  const { stdout: shown } = await run('probe')
  expect(shown).toContain('tls.key contains no valid private key in PEM')
  for (const text of [stdout, stderr, shown]) {
    expect(text).not.toContain('canary')
    expect(text).not.toContain('BEGIN')
  }
  config({ a: 'labels: {}' })
  expect((await run('diff')).stdout).toMatch(/tls\.key/)
})
