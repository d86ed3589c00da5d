import { type HostileCase, saying } from './scene.ts'

const M = '"model":"ext-both"'

function body(title: string, bytes: string | Buffer, code = 'invalid_json', param?: string): HostileCase {
  return {
    title,
    bytes: (path, key) => saying(path, key, { body: bytes }),
    status: 400,
    code,
    ...(param !== undefined && { param }),
    closes: false,
  }
}

const model = (title: string, bytes: string) => body(title, bytes, 'invalid_model', 'model')
const field = (name: string, value: string) =>
  body(`${name} of ${value.slice(0, 24)}`, `{${M},"${name}":${value}}`, 'invalid_parameter', name)
const twice = (title: string, bytes: string, name: string) => body(title, bytes, 'invalid_parameter', name)
const nested = (depth: number) => `{${M},"x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
const latin1 = (text: string) => Buffer.from(text, 'latin1')

/** Bodies that are framed well and still must not pass; the connection serves on. */
export const BODIES: readonly HostileCase[] = [
  body('none', ''),
  body('a byte order mark', `\uFEFF{${M}}`),
  body('UTF-16', Buffer.from(`{${M}}`, 'utf16le')),
  body('UTF-16 with a byte order mark', Buffer.from(`\uFEFF{${M}}`, 'utf16le')),
  body('latin1', latin1(`{${M},"x":"\xe9"}`)),
  body('an overlong slash', latin1(`{${M},"x":"\xc0\xaf"}`)),
  body('a surrogate in UTF-8', latin1(`{${M},"x":"\xed\xa0\x80"}`)),
  body('a character behind the last', latin1(`{${M},"x":"\xf4\x90\x80\x80"}`)),
  body('UTF-8 cut at the end', latin1(`{${M}}\xe2\x82`)),
  body('a depth of 129', nested(129)),
  body('a depth of a million', `{${M},"x":${'['.repeat(1_000_000)}`),
  body(
    'a million fields',
    `{${M},${Array.from({ length: 1_000_000 }, (_, index) => `"f${index}":1`).join(',')}}`,
  ),
  body('two objects', `{${M}}{${M}}`),
  body('a NUL behind it', `{${M}}\0`),
  body('NaN', `{${M},"x":NaN}`),
  body('an array', `[{${M}}]`),
  body('form data', 'model=ext-both'),
  model('no model', '{"messages":[]}'),
  model('an empty model', '{"model":""}'),
  model('a model of a number', '{"model":1}'),
  model('a model of null', '{"model":null}'),
  model('a model of an array', '{"model":["ext-both"]}'),
  model('a model of an object', '{"model":{"toString":"ext-both"}}'),
  model('a model of 4,000 characters', `{"model":"${'x'.repeat(4_000)}"}`),
  model('model twice', `{${M},${M}}`),
  model('model twice, once escaped', `{"m\\u006fdel":"x",${M}}`),
  model('model in another letter case', `{${M},"Model":"x"}`),
  twice('stream twice', `{${M},"stream":false,"stream":true}`, 'stream'),
  twice('stream with a long s', `{${M},"ſtream":true}`, 'stream'),
  twice('max_tokens in capitals, escaped', `{${M},"\\u004dAX_TOKENS":1}`, 'max_tokens'),
  twice('a field that is not read, twice', `{${M},"seed":1,"seed":2}`, 'seed'),
  twice('__proto__ twice', `{"__proto__":{},${M},"__proto__":{}}`, '__proto__'),
  ...['"true"', '1', '{}', '[]', '"false"'].map(value => field('stream', value)),
  ...['-1', '1.5', '1e400', '-1e400', '"5"', '12345678901234567890', '1e-5'].map(value =>
    field('max_tokens', value),
  ),
  ...['-2', '0.5', 'true', '129', '1e308'].map(value => field('n', value)),
  ...['[]', '0.1', '-0.1'].map(value => field('max_completion_tokens', value)),
  ...['gzip', 'br', 'deflate', 'zstd', 'identity, gzip', 'x'].map(
    (coding): HostileCase => ({
      title: `a content-encoding of ${coding}`,
      bytes: (path, key) => saying(path, key, { lines: [`content-encoding: ${coding}`] }),
      status: 415,
      code: 'unsupported_encoding',
      closes: false,
    }),
  ),
  {
    title: 'a content-length over the limit',
    bytes: (path, key) =>
      saying(path, key, {
        framed: false,
        lines: ['content-length: 33554433'],
        body: Buffer.alloc(33_554_433, 0x20),
      }),
    status: 413,
    code: 'request_too_large',
    closes: false,
  },
  {
    title: 'a content-length of 9 PB',
    bytes: (path, key) =>
      saying(path, key, { framed: false, lines: ['content-length: 9007199254740993', 'connection: close'] }),
    status: 413,
    code: 'request_too_large',
    closes: true,
  },
]
