import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { listenFault } from '../../src/server/listen-fault.ts'

/** What the system says to an attempt to listen. */
function rejection(host: string, port: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', resolve)
    server.listen(port, host, () => server.close(() => reject(new Error('nothing rejected it'))))
  })
}

describe('an address that cannot be listened on', () => {
  it('is named with the reason, and with the error of the system as its cause', async () => {
    const first = createServer()
    await new Promise<void>(resolve => first.listen(0, '127.0.0.1', resolve))
    const { port } = first.address() as { port: number }
    const cause = await rejection('127.0.0.1', port)
    expect(listenFault(cause, { host: '127.0.0.1', port }, '--listen')).toMatchObject({
      code: 'address_unavailable',
      hint: expect.stringContaining('with --listen'),
      message: `127.0.0.1:${port} is in use.`,
      cause,
    })
    await new Promise(resolve => first.close(resolve))
  })

  it('may be one of another machine', async () => {
    const error = listenFault(await rejection('192.0.2.1', 0), { host: '192.0.2.1', port: 9 }, '--listen')
    expect(error).toMatchObject({
      code: 'address_unavailable',
      message: '192.0.2.1:9 is not an address of this machine.',
    })
  })

  it('of IPv6 is written as it is typed', () => {
    const cause = Object.assign(new Error('listen EACCES'), { code: 'EACCES' })
    expect(listenFault(cause, { host: '::1', port: 80 }, '--control-listen')).toMatchObject({
      message: '[::1]:80 needs permissions that this process lacks.',
    })
  })

  it('is not what any other error tells of', () => {
    for (const other of [
      new Error('constructor'),
      Object.assign(new Error('x'), { code: 'constructor' }),
      'text',
    ])
      expect(listenFault(other, { host: '::1', port: 80 }, '--control-listen')).toBe(other)
  })
})
