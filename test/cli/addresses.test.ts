import { describe, expect, it } from 'vitest'
import { listenAddress, parseListen } from '../../src/cli/addresses.ts'

describe('an address to listen on', () => {
  it.each([
    ['127.0.0.1:9101', { host: '127.0.0.1', port: 9101 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    ['[::1]:8090', { host: '::1', port: 8090 }],
    [':8090', { host: '127.0.0.1', port: 8090 }],
    ['8090', { host: '127.0.0.1', port: 8090 }],
  ])('reads %s', (text, address) => expect(parseListen(text)).toEqual(address))

  it.each([
    '',
    'localhost',
    '127.0.0.1:',
    '::1:8090',
    '127.0.0.1:65536',
    '1.2.3.4:0x10',
    '[::1]8090',
    'a:b:1',
  ])('rejects %j as wrong usage', text => {
    expect(() => parseListen(text)).toThrow(expect.objectContaining({ code: 'usage' }) as Error)
  })
})

describe('a socket that systemd has opened', () => {
  const environment = { LISTEN_PID: '42', LISTEN_FDS: '2', LISTEN_FDNAMES: 'gateway:control' }
  it.each([
    ['systemd', 3],
    ['systemd:gateway', 3],
    ['systemd:control', 4],
  ])('%s', (text, fd) =>
    expect(listenAddress(text, { environment, pid: 42 })).toEqual({ host: text, port: 0, fd }),
  )

  it.each([
    ['an unknown name', 'systemd:other', 42, 'systemd has opened gateway, control'],
    ['those of another process', 'systemd', 43, 'no socket for this process'],
  ])('%s', (_what, text, pid, reason) =>
    expect(() => listenAddress(text, { environment, pid })).toThrow(
      expect.objectContaining({ code: 'usage', message: expect.stringContaining(reason) }) as Error,
    ),
  )

  it('a host that begins like it is an address', () =>
    expect(listenAddress('systemd.example:80', { environment, pid: 42 })).toEqual({
      host: 'systemd.example',
      port: 80,
    }))
})
