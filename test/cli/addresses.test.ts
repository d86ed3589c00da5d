import { describe, expect, it } from 'vitest'
import { parseListen } from '../../src/cli/addresses.ts'

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
