import { BODY, type HostileCase, saying } from './scene.ts'

const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `x-${index}: 1`)

function bad(title: string, bytes: HostileCase['bytes'], more: Partial<HostileCase> = {}): HostileCase {
  return { title, bytes, status: 400, code: 'bad_request', closes: true, ...more }
}

const TOO_LARGE = { status: 431, code: 'header_too_large' } as const

/** A head that is no HTTP, or that a proxy in front would read otherwise. */
export const HEADS: readonly HostileCase[] = [
  bad('two Host lines', (path, key) => saying(path, key, { hosts: ['gateway', 'other'] })),
  bad('two Host lines, the same', (path, key) => saying(path, key, { hosts: ['gateway', 'gateway'] })),
  bad('no Host line', (path, key) => saying(path, key, { hosts: [] })),
  bad('an absolute target', (path, key) => saying(`http://gateway${path}`, key), { pathless: true }),
  bad('a target without a scheme', (path, key) => saying(`//gateway${path}`, key), { pathless: true }),
  bad('an asterisk for a target', (_path, key) => saying('*', key, { method: 'OPTIONS' }), {
    pathless: true,
  }),
  bad('a target without a slash', (path, key) => saying(path.slice(1), key), { pathless: true }),
  bad('a fragment', (path, key) => saying(`${path}?a#b`, key)),
  ...['\t', '\x01', '\x7f', '\xff', '\0'].map(byte =>
    bad(`a control byte ${JSON.stringify(byte)} in the query`, (path, key) =>
      saying(`${path}?x=${byte}`, key),
    ),
  ),
  bad('a space in the target', (path, key) => saying(`${path} x`, key)),
  bad('HTTP/0.9', path => `POST ${path}\r\n\r\n`),
  bad('HTTP/0.9 by name', (path, key) => saying(path, key, { version: 'HTTP/0.9' })),
  bad('HTTP/1.2', (path, key) => saying(path, key, { version: 'HTTP/1.2' })),
  bad('HTTP/2.0', (path, key) => saying(path, key, { version: 'HTTP/2.0' })),
  bad('http/1.1', (path, key) => saying(path, key, { version: 'http/1.1' })),
  bad('the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', { pathless: true }),
  bad('a TLS handshake', () => Buffer.from('\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', 'latin1'), {
    pathless: true,
  }),
  bad('an unknown method', (path, key) => saying(path, key, { method: 'BREW' })),
  bad('a method in lower case', (path, key) => saying(path, key, { method: 'post' }), { pathless: true }),
  bad('CONNECT', (_path, key) => saying('gateway:443', key, { method: 'CONNECT', body: '', framed: false }), {
    pathless: true,
  }),
  bad('bare LF for line ends', (path, key) => saying(path, key).toString('latin1').replaceAll('\r\n', '\n')),
  bad('one bare LF', (path, key) => saying(path, key).toString('latin1').replace('\r\nauth', '\nauth')),
  bad('a bare CR in a value', (path, key) => saying(path, key, { lines: ['x: a\rb'] })),
  bad('CR CR LF', (path, key) => saying(path, key).toString('latin1').replace('\r\n', '\r\r\n')),
  ...['\0', '\x01', '\x7f'].map(byte =>
    bad(`a control byte ${JSON.stringify(byte)} in a value`, (path, key) =>
      saying(path, key, { lines: [`x: a${byte}b`] }),
    ),
  ),
  bad('a control byte in a name', (path, key) => saying(path, key, { lines: ['x\0y: a'] })),
  bad('a header without a name', (path, key) => saying(path, key, { lines: [': a'] })),
  bad('a header without a colon', (path, key) => saying(path, key, { lines: ['authorization'] })),
  bad('a space in a name', (path, key) => saying(path, key, { lines: ['x y: a'] })),
  bad('a folded line', (path, key) => saying(path, key, { lines: ['x: a', ' b'] })),
  bad('a folded first line', (path, key) =>
    saying(path, key, { hosts: [], lines: ['host: x'] })
      .toString('latin1')
      .replace('\r\n', '\r\n x: a\r\n'),
  ),
  bad('129 header lines', (path, key) => saying(path, key, { lines: many(126) }), TOO_LARGE),
  bad('2,000 header lines', (path, key) => saying(path, key, { lines: many(1_997) }), TOO_LARGE),
  bad(
    'a header of 20 KB',
    (path, key) => saying(path, key, { lines: [`x: ${'x'.repeat(20_000)}`] }),
    TOO_LARGE,
  ),
  bad(
    'a name of 20 KB',
    (path, key) => saying(path, key, { lines: [`${'x'.repeat(20_000)}: x`] }),
    TOO_LARGE,
  ),
  bad('a target of 20 KB', (path, key) => saying(`${path}?${'x'.repeat(20_000)}`, key), TOO_LARGE),
  bad('an unknown expectation', (path, key) => saying(path, key, { lines: ['expect: 200-ok'] }), {
    status: 417,
    code: 'unmet_expectation',
  }),
  bad('a body of 4 MB behind a head that is rejected', (path, key) =>
    saying(path, key, { hosts: [], body: BODY.padEnd(4_000_000) }),
  ),
]

function unfit(title: string, bytes: HostileCase['bytes'], status: number, code: string): HostileCase {
  return { title, bytes, status, code, closes: false }
}

/** Whole requests for something that is not there. */
export const MISSED: readonly HostileCase[] = [
  ...['/../v1/messages', '//', '/.', '/%2e%2e', '%2f', '%00', ';x=1', '\\', '/x', '%3Fx'].map(more => ({
    ...unfit(`…${more} behind a path`, (path, key) => saying(path + more, key), 404, 'unknown_path'),
  })),
  ...['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND'].map(method =>
    unfit(method, (path, key) => saying(path, key, { method }), 405, 'method_not_allowed'),
  ),
]
