import type { IncomingMessage } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { TrustedProxies } from '../../src/admin/client-address.ts'
import { isNetwork } from '../../src/base/ip-address.ts'
import { controlScene } from './scene.ts'

const PROXIES = ['10.0.0.0/8', '192.0.2.7', '2001:db8:f::/48']

function clientOf(remoteAddress: string, headers: Readonly<Record<string, string>>): string {
  const req = { socket: { remoteAddress }, headers } as unknown as IncomingMessage
  return new TrustedProxies(PROXIES).clientOf(req)
}

test.each([
  ['no proxy', '198.51.100.1', { 'x-forwarded-for': '203.0.113.9' }, '198.51.100.1'],
  ['a proxy without a word', '10.0.0.1', {}, '10.0.0.1'],
  ['a proxy', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9'],
  ['a socket of IPv6', '::ffff:10.0.0.1', { 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9'],
  ['what the client has made up', '10.0.0.1', { 'x-forwarded-for': '1.1.1.1, 203.0.113.9' }, '203.0.113.9'],
  ['two proxies', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9, 192.0.2.7' }, '203.0.113.9'],
  ['ports', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9:4711' }, '203.0.113.9'],
  ['RFC 7239', '10.0.0.1', { forwarded: 'for=1.1.1.1, for=203.0.113.9;proto=https' }, '203.0.113.9'],
  ['RFC 7239 and IPv6', '2001:db8:f::1', { forwarded: 'For="[2001:db8::9]:80"' }, '2001:db8::9'],
  ['nothing that can be read', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9, unknown' }, '10.0.0.1'],
  ['proxies alone', '10.0.0.1', { 'x-forwarded-for': '10.0.0.2, 10.0.0.3' }, '10.0.0.1'],
  [
    'two headers that agree',
    '10.0.0.1',
    { forwarded: 'for=203.0.113.9', 'x-forwarded-for': '203.0.113.9' },
    '203.0.113.9',
  ],
  [
    'two headers that do not',
    '10.0.0.1',
    { forwarded: 'for=1.1.1.1', 'x-forwarded-for': '203.0.113.9' },
    '10.0.0.1',
  ],
])('behind %s a client is the right-most address that is no trusted proxy', (_, peer, headers, client) => {
  expect(clientOf(peer, headers as Record<string, string>)).toBe(client)
})

test.each(['10.0.0.0/8', '::1', '2001:db8::/32', '192.0.2.1/32'])('%s is a network', text =>
  expect(isNetwork(text)).toBe(true),
)
test.each(['10.0.0.0/33', 'proxy', '', '10.0.0.0/', '::1/129', '10.0.0.0/8/8', 'fe80::1%eth0'])(
  '%s is none',
  text => expect(isNetwork(text)).toBe(false),
)

test('behind a trusted proxy guesses of an outsider block no other user', async () => {
  const { addUser, call, clock, log } = await controlScene(onTestFinished, { trustedProxies: ['127.0.0.1'] })
  await addUser('admin', 'admin')
  const guess = (client: string, password: string) =>
    call('log_in', { body: { username: 'admin', password }, headers: { 'x-forwarded-for': client } })
  for (let times = 0; times < 5; times++) expect((await guess('203.0.113.9', 'wrong')).status).toBe(401)
  const waiting = clock.pending
  const rejected = guess('203.0.113.9', 'wrong')
  await clock.waiting(waiting + 1)
  clock.advance(2_000)
  expect((await rejected).status).toBe(429)
  expect((await guess('198.51.100.1', 'correct horse battery')).status).toBe(201)
  expect(log.at(-1)).toMatchObject({ address: '198.51.100.1' })
})
