import { BODY, chunked, type HostileCase, saying } from './scene.ts'

type Framing = readonly [
  title: string,
  bytes: HostileCase['bytes'],
  status?: number | undefined,
  code?: string | undefined,
]

/** A message whose end two servers could see in two places. */
const FRAMINGS: readonly Framing[] = [
  ['content-length and chunked', (path, key) => chunked(path, key, '0\r\n\r\n', ['content-length: 20'])],
  [
    'chunked and content-length',
    (path, key) => saying(path, key, { lines: ['transfer-encoding: chunked'], body: '0\r\n\r\n' }),
  ],
  ['two content-lengths', (path, key) => saying(path, key, { lines: ['content-length: 3'] })],
  ['two content-lengths, the same', (path, key) => saying(path, key, { lines: ['content-length: 20'] })],
  ...['3, 3', '-1', '+20', '0x14', '2 0', '', '20;', '1e1', '99999999999999999999999', '٢٠'].map(
    (length): Framing => [
      `a content-length of "${length}"`,
      (path, key) =>
        saying(path, key, {
          framed: false,
          lines: [`content-length: ${Buffer.from(length).toString('latin1')}`],
        }),
    ],
  ),
  ...[
    'gzip, chunked',
    'chunked, gzip',
    'chunked, chunked',
    'xchunked',
    'chunked;q=1',
    'gzip',
    'chunkedx',
  ].map(
    (coding): Framing => [
      `a transfer coding of "${coding}"`,
      (path, key) =>
        saying(path, key, {
          framed: false,
          lines: [`transfer-encoding: ${coding}`],
          body: '14\r\n{"model":"ext-both"}\r\n0\r\n\r\n',
        }),
      501,
      'unsupported_transfer_encoding',
    ],
  ),
  [
    'two lines of chunked',
    (path, key) => chunked(path, key, '0\r\n\r\n', ['transfer-encoding: chunked']),
    501,
    'unsupported_transfer_encoding',
  ],
  [
    'an empty transfer coding beside a content-length',
    (path, key) => saying(path, key, { lines: ['transfer-encoding:'] }),
  ],
  [
    'identity beside a content-length',
    (path, key) => saying(path, key, { lines: ['transfer-encoding: identity'] }),
  ],
  [
    'a vertical tab before chunked',
    (path, key) =>
      saying(path, key, { framed: false, lines: ['transfer-encoding: \x0bchunked'], body: '0\r\n\r\n' }),
  ],
  [
    'chunked on a folded line',
    (path, key) =>
      saying(path, key, { framed: false, lines: ['transfer-encoding:', ' chunked'], body: '0\r\n\r\n' }),
  ],
  [
    'a space before the colon',
    (path, key) =>
      saying(path, key, { framed: false, lines: ['transfer-encoding : chunked'], body: '0\r\n\r\n' }),
  ],
  [
    'chunked under HTTP/1.0',
    (path, key) =>
      saying(path, key, {
        version: 'HTTP/1.0',
        framed: false,
        lines: ['transfer-encoding: chunked'],
        body: '14\r\n{"model":"ext-both"}\r\n0\r\n\r\n',
      }),
  ],
]

const CHUNKS: readonly (readonly [
  title: string,
  bytes: string,
  status?: number | undefined,
  code?: string | undefined,
])[] = [
  ['a chunk size that is none', 'zz\r\n{}\r\n0\r\n\r\n'],
  ['a chunk size that overflows', 'ffffffffffffffffff\r\n{}\r\n0\r\n\r\n'],
  ['a negative chunk size', '-2\r\n{}\r\n0\r\n\r\n'],
  ['a signed chunk size', '+2\r\n{}\r\n0\r\n\r\n'],
  ['a chunk size with 0x', '0x2\r\n{}\r\n0\r\n\r\n'],
  ['a chunk size with a space', '2 \r\n{}\r\n0\r\n\r\n'],
  ['no chunk size', '\r\n{}\r\n0\r\n\r\n'],
  ['an open quote in a chunk extension', '2;a="b\r\n{}\r\n0\r\n\r\n'],
  ['a chunk extension that ends in a bare LF', '2;\n{}\r\n0\r\n\r\n'],
  ['20 KB of chunk extensions', `2;a=${'b'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`],
  ['chunks that end in bare LF', '2\n{}\n0\n\n'],
  ['a chunk longer than it says', `1\r\n${BODY}\r\n0\r\n\r\n`],
  ['a chunk shorter than it says', `7f\r\n${BODY.padEnd(127)}xx\r\n0\r\n\r\n`],
  ['a content-length in the trailer', '2\r\n{}\r\n0\r\ncontent-length: 5\r\n\r\n'],
  ['20 KB of trailer', `14\r\n${BODY}\r\n0\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431, 'header_too_large'],
  ['a NUL in the trailer', `14\r\n${BODY}\r\n0\r\nx: a\0b\r\n\r\n`],
]

export const FRAMING: readonly HostileCase[] = [
  ...FRAMINGS,
  ...CHUNKS.map(
    ([title, bytes, status, code]): Framing => [
      title,
      (path, key) => chunked(path, key, bytes),
      status,
      code,
    ],
  ),
].map(([title, bytes, status = 400, code = 'bad_request']) => ({ title, bytes, status, code, closes: true }))
