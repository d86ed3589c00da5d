import { describe, expect, onTestFinished, test } from 'vitest'
import { Hosts } from '../../src/admin/hosts.ts'
import { rawClient } from '../gateway/raw-client.ts'
import { controlScene } from './scene.ts'

describe('a control plane on 127.0.0.1', () => {
  const hosts = new Hosts('127.0.0.1', new URL('https://gw.example.com:8443/x'))

  test.each([
    'localhost',
    'LOCALHOST:8080',
    '127.0.0.1:8080',
    '127.9.9.9',
    '[::1]:8080',
    'gw.example.com',
    'gw.example.com:8443',
    undefined,
  ])('is asked under %s', host => expect(() => hosts.assertKnown(host)).not.toThrow())

  test.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'gw.example.com.evil.example',
    '127.evil.example:8080',
    '192.0.2.1',
    '',
    '[::1',
    '2130706433',
  ])('is not asked under %s', host => {
    expect(() => hosts.assertKnown(host)).toThrow(expect.objectContaining({ code: 'misdirected' }))
  })
})

test.each([
  ['0.0.0.0', '192.0.2.1:8080', true],
  ['::', '[2001:db8::1]:8080', true],
  ['0.0.0.0', 'evil.example', false],
  ['192.0.2.1', '192.0.2.1', true],
  ['192.0.2.1', '192.0.2.2', false],
  ['gw.internal', 'GW.internal:8080', true],
])('one on %s is asked under %s: %s', (listens, host, isKnown) => {
  const assert = () => new Hosts(listens, undefined).assertKnown(host)
  if (isKnown) expect(assert).not.toThrow()
  else expect(assert).toThrow()
})

test('a name that another site has pointed here opens no session, and reads nothing', async () => {
  const scene = await controlScene(onTestFinished)
  await scene.addUser('ada', 'admin')
  const body = JSON.stringify({ username: 'ada', password: 'correct horse battery', carrier: 'cookie' })
  const client = await rawClient(onTestFinished, scene.url)
  const head = [
    'POST /api/v1/session HTTP/1.1',
    'host: evil.example:8080',
    'origin: http://evil.example:8080',
    'sec-fetch-site: same-origin',
    'content-type: application/json',
    `content-length: ${body.length}`,
  ]
  await client.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  const answer = await client.answer()
  expect([answer.status, answer.values('set-cookie')]).toEqual([421, []])
  expect(answer.json()).toMatchObject({ code: 'misdirected' })
  expect(await scene.store.users.user('ada')).toMatchObject({ sessions: 0 })
})
