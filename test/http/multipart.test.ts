import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splice } from '../../src/base/splice.ts'
import { boundaryOf } from '../../src/http/multipart.ts'
import { BOUNDARY, bodyOf, faultOf, type GivenPart, scan } from './multipart-bodies.ts'

/** What contents are made of: everything that begins like a delimiter line, and is none. */
const FRAGMENTS = [
  '\r\n',
  '\r',
  '\n',
  '-',
  '--',
  '\r\n-',
  '\r\n--',
  BOUNDARY,
  ...Array.from(`\r\n--${BOUNDARY}`, (_, at) => `\r\n--${BOUNDARY}`.slice(0, at)),
  'x',
  '\0ÿ',
  'name="model"',
]

const anyContent = fc
  .array(fc.oneof(fc.constantFrom(...FRAGMENTS), fc.string({ unit: 'binary', maxLength: 5 })), {
    maxLength: 12,
  })
  .map(fragments => fragments.join(''))
  .filter(content => !content.includes(`--${BOUNDARY}`))

const anyFile: fc.Arbitrary<GivenPart> = fc.record(
  {
    name: fc.constantFrom('file', 'image', 'image[]', 'ünï', 'a%22b'),
    content: anyContent,
    filename: fc.constantFrom(
      '',
      'a.wav',
      'Aufnahme ü.mp3',
      '录音.wav',
      'a\\"b',
      'a;b="c'.replace('"', '%22'),
    ),
    lines: fc.constantFrom([], ['Content-Type: audio/wav'], ['content-type:text/plain', 'X-Y: ']),
  },
  { requiredKeys: ['name', 'content'] },
)

const anyForm = fc
  .tuple(fc.array(anyFile, { maxLength: 3 }), anyContent, fc.array(anyFile, { maxLength: 3 }))
  .map(([before, content, after]) => [...before, { name: 'model', content }, ...after])

const anyCuts = fc.array(fc.nat(1_000), { maxLength: 8 })

describe('the scanner of multipart/form-data', () => {
  it('finds each part and the text of a field, whatever stands around it, and however the bytes are cut', () => {
    fc.assert(
      fc.property(
        anyForm,
        anyCuts,
        fc.constantFrom('', 'a preamble', '\r\n--'),
        fc.constantFrom('', '\r\n', '\r\nan epilogue\r\n--'),
        (form, cuts, preamble, epilogue) => {
          const { bytes, contents } = bodyOf(form, { preamble, epilogue })
          const scanner = scan(bytes, { cuts: cuts.map(cut => cut % (bytes.length + 1)) })
          expect(scanner.fault).toBe(undefined)
          expect(scanner.parts.map(({ start, end }) => [start, end])).toEqual(
            contents.map(({ start, end }) => [start, end]),
          )
          const model = form.find(part => part.name === 'model')
          expect(scanner.field('model')?.text).toBe(model?.content)
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it('agrees with the parser of fetch about names, file names and contents', async () => {
    await fc.assert(
      fc.asyncProperty(anyForm, async form => {
        // It gives up at a boundary without the dashes, and at escaped quotes.
        fc.pre(
          form.every(({ content, filename }) => !content.includes(BOUNDARY) && !filename?.includes('\\')),
        )
        const { bytes } = bodyOf(form)
        const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }
        const parsed: unknown[] = []
        for (const [name, value] of await new Response(bytes, { headers }).formData()) {
          const content =
            typeof value === 'string' ? value : Buffer.from(await value.arrayBuffer()).toString()
          parsed.push([name, typeof value === 'string' ? undefined : value.name, content])
        }
        const scanned = scan(bytes).parts.map(({ name, filename, start, end }) => [
          name,
          filename,
          bytes.toString('utf8', start, end),
        ])
        expect(scanned).toEqual(parsed)
      }),
      { numRuns: 200 },
    )
  })

  it('finds the same at every two cuts of a small body, and byte by byte', () => {
    const { bytes } = bodyOf(
      [
        { name: 'file', filename: 'ü.wav', content: `\r\n--${BOUNDARY.slice(0, 4)}\r\n-` },
        { name: 'model', content: 'whisper-ü' },
        { name: 'n', content: '' },
      ],
      { preamble: '-', epilogue: '\r\n-' },
    )
    const whole = scan(bytes)
    expect(whole.fault).toBe(undefined)
    expect(whole.parts.map(part => part.text)).toEqual([undefined, 'whisper-ü', ''])
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        expect(scan(bytes, { cuts: [first, second] }).parts).toEqual(whole.parts)
      }
    }
    expect(scan(bytes, { cuts: Array.from(bytes, (_, at) => at) }).parts).toEqual(whole.parts)
  })

  it('is not done before the last boundary is whole', () => {
    const { bytes } = bodyOf([{ name: 'model', content: 'm' }], { epilogue: '\r\n' })
    for (let end = 0; end < bytes.length; end++) {
      const isWhole = end === bytes.length - 2
      expect(scan(bytes.subarray(0, end)).fault?.code).toBe(isWhole ? undefined : 'unfinished')
    }
  })

  it('says where a part stands: its headers, and the numbers count from the first offset', () => {
    const text = `--${BOUNDARY}\r\nContent-Type: text/plain\r\ncontent-disposition:form-data;NAME=model\r\n\r\nm\r\n--${BOUNDARY}--`
    const scanner = scan(Buffer.from(text))
    expect(scanner.parts).toEqual([
      {
        name: 'model',
        filename: undefined,
        contentType: 'text/plain',
        headStart: text.indexOf('Content-Type'),
        start: text.indexOf('m\r\n--'),
        end: text.indexOf('\r\n--', 1),
        text: 'm',
        lengthAt: undefined,
      },
    ])
  })

  it('replaces one field; every other byte stays', () => {
    fc.assert(
      fc.property(anyForm, fc.constantFrom('', 'served', '\r\n--', 'ü'), (form, served) => {
        const { bytes } = bodyOf(form)
        const scanner = scan(bytes)
        const edits = scanner.replace(scanner.field('model')!, Buffer.from(served))!
        const expected = form.map(part => (part.name === 'model' ? { ...part, content: served } : part))
        expect(Buffer.concat(splice([bytes], edits))).toEqual(bodyOf(expected).bytes)
      }),
    )
  })

  it('replaces the length of a part that says it', () => {
    const form = (content: string) =>
      bodyOf([{ name: 'model', content, lines: ['Content-Length:  ' + content.length, 'X: y'] }]).bytes
    const scanner = scan(form('m'))
    const edits = scanner.replace(scanner.field('model')!, Buffer.from('served-model'))!
    expect(Buffer.concat(splice([form('m')], edits))).toEqual(form('served-model'))
    expect(scanner.replace(scanner.field('model')!, Buffer.from(`x--${BOUNDARY}`))).toBe(undefined)
  })

  it.each([
    ['form-data; name="mo\\"x"; filename="a\\\\b\\".wav"', 'mo"x', 'a\\b".wav'],
    ['form-data; name="a%22b%0D%0A"; filename="%22"', 'a"b\r\n', '"'],
    ['FORM-DATA ; name=file ; filename=a.wav', 'file', 'a.wav'],
    ["form-data; name=file; filename=a.wav; filename*=utf-8''b.wav", 'file', 'a.wav'],
    ["form-data; name=file; filename*=utf-8''b.wav", 'file', undefined],
    ['form-data; name="file"; filename=""', 'file', ''],
    ['form-data; name="file"; filename="C:\\dir\\a.wav"', 'file', 'C:\\dir\\a.wav'],
  ])('reads the names in %s', (disposition, name, filename) => {
    const text = `--${BOUNDARY}\r\nContent-Disposition: ${disposition}\r\n\r\n\r\n--${BOUNDARY}--`
    expect(scan(Buffer.from(text)).parts).toMatchObject([{ name, filename }])
  })

  it('reads a file name in Latin-1, and keeps at most what a type needs', () => {
    const lines = [`Content-Type: a/${'b'.repeat(1_000)}`]
    const { bytes } = bodyOf([{ name: 'file', filename: 'X', content: '', lines }])
    bytes[bytes.indexOf('"X"') + 1] = 0xfc
    const [part] = scan(bytes).parts
    expect(part?.filename).toBe('ü')
    expect(part?.contentType).toHaveLength(256)
  })

  it('keeps a text of 8 KiB, and rejects a longer one, however it is cut', () => {
    const of = (bytes: number) => bodyOf([{ name: 'model', content: 'm'.repeat(bytes) }]).bytes
    for (const cuts of [[], [8_200, 8_260], Array.from({ length: 8_400 }, (_, at) => at)]) {
      expect(scan(of(8_192), { cuts }).field('model')?.text).toHaveLength(8_192)
      expect(scan(of(8_193), { cuts }).fault).toMatchObject({ code: 'too_long', field: 'model' })
      expect(scan(of(9_000), { cuts }).fault).toMatchObject({ code: 'too_long', field: 'model' })
    }
    const { fault, parts } = scan(bodyOf([{ name: 'prompt', content: 'p'.repeat(50_000) }]).bytes)
    expect(fault).toBe(undefined)
    expect(parts.map(({ start, end, text }) => [end - start, text])).toEqual([[50_000, undefined]])
  })
})

describe('the boundary in a content-type', () => {
  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['multipart/form-data;boundary="abc"', 'abc'],
    ['Multipart/Form-Data ; charset=UTF-8; Boundary=----WebKitFormBoundaryX', '----WebKitFormBoundaryX'],
    [`multipart/form-data; boundary="a'()+_,-./:=?z"`, "a'()+_,-./:=?z"],
    [`multipart/form-data; boundary=${'x'.repeat(70)}`, 'x'.repeat(70)],
    ['multipart/form-data; boundary=boundary', 'boundary'],
    [undefined, undefined],
    ['', undefined],
    ['multipart/form-data', undefined],
    ['multipart/form-data; boundary=', undefined],
    ['multipart/form-data; boundary=""', undefined],
    [`multipart/form-data; boundary=${'x'.repeat(71)}`, undefined],
    ['multipart/form-data; boundary=a; boundary=b', undefined],
    ['multipart/form-data; boundary=a; boundary=a', undefined],
    ['multipart/form-data; boundary=a; BOUNDARY=b', undefined],
    ['multipart/form-data; boundary*=a', undefined],
    ['multipart/form-data; boundary=a; boundary*0=b', undefined],
    ['multipart/form-data; x="boundary=b"; boundary=a', undefined],
    ['multipart/form-data; boundary=a; charset=utf-7', undefined],
    ['multipart/form-data; boundary=a b', undefined],
    ['multipart/form-data; boundary="a b"', undefined],
    ['multipart/form-data; boundary="a\\b"', undefined],
    ['multipart/form-data; boundary="a', undefined],
    ['multipart/form-data; boundary=a/b', undefined],
    ['multipart/form-data, multipart/form-data; boundary=a', undefined],
    ['multipart/form-data; boundary=a, multipart/form-data; boundary=b', undefined],
    ['multipart/form-data; boundary=ü', undefined],
    ['multipart/mixed; boundary=a', undefined],
    ['multipart/form-dataX; boundary=a', undefined],
  ])('of %s is %s', (contentType, boundary) => {
    expect(boundaryOf(contentType)).toBe(boundary)
  })
})

describe('an ambiguous body is rejected', () => {
  const model = (head: string, content = 'm') =>
    `--${BOUNDARY}\r\n${head}\r\n\r\n${content}\r\n--${BOUNDARY}--`
  const NAMED = 'Content-Disposition: form-data; name="model"'
  const FILE = 'Content-Disposition: form-data; name="file"; filename="a"'
  const two = (first: string, second: string) =>
    `--${BOUNDARY}\r\n${first}\r\n\r\nm\r\n--${BOUNDARY}\r\n${second}\r\n\r\nm\r\n--${BOUNDARY}--`

  it('and this one is not', () => {
    expect(faultOf(model(NAMED))).toBe(undefined)
    expect(faultOf(two(FILE, FILE))).toBe(undefined)
    expect(faultOf(`--${BOUNDARY}--`)).toBe(undefined)
  })

  it.each([
    ['duplicate', two(NAMED, NAMED)],
    ['spelling', model('Content-Disposition: form-data; name="Model"')],
    ['spelling', two(NAMED, 'Content-Disposition: form-data; name="MODEL"')],
    ['spelling', model('Content-Disposition: form-data; name="model[]"')],
    ['spelling', model('Content-Disposition: form-data; name=" model"')],
    ['spelling', model('Content-Disposition: form-data; name="mo\\del"')],
    ['spelling', model('Content-Disposition: form-data; name="%6dodel"')],
    ['spelling', model('Content-Disposition: form-data; name="mo\\%64el"')],
    ['spelling', model('Content-Disposition: form-data; name="\u00ef\u00bd\u008dodel"')],
    ['encoding', model('Content-Disposition: form-data; name="_charset_"', 'utf-7')],
    ['name', model('Content-Type: text/plain')],
    ['name', model('')],
    ['name', model('Content-Disposition: form-data')],
    ['name', model('Content-Disposition: form-data; name=""')],
    ['name', model(`Content-Disposition: form-data; name="${'x'.repeat(257)}"`)],
    ['name', model('Content-Disposition: form-data; name="\u00fc"')],
    ['name', model("Content-Disposition: form-data; name*=utf-8''model; name=x")],
    ['name', model('Content-Disposition: form-data; name=x; name*0=model')],
    ['header', model('Content-Disposition: attachment; name="model"')],
    ['header', model('Content-Disposition: form-data; name="x"; name="model"')],
    ['header', model('Content-Disposition: form-data; name="x"; Name="model"')],
    ['header', model('Content-Disposition: form-data; name="x" model')],
    ['header', model('Content-Disposition: form-data; name="x')],
    ['header', model('Content-Disposition: form-data; name= "x"')],
    ['header', model('Content-Disposition: form-data; filename="a\\"; name="b"; x="c"')],
    ['header', model('Content-Disposition: form-data; name="file"; filename="a\\"; name=\\"model\\""')],
    ['header', model(`${NAMED}\r\n${NAMED}`)],
    ['header', model(`${NAMED}\r\nContent-Type: text/plain\r\ncontent-type: text/html`)],
    ['header', model(`${NAMED};\r\n filename="a"`)],
    ['header', model(` ${NAMED}`)],
    ['header', model(NAMED.replace(':', ' :'))],
    ['header', model(`X\r\n${NAMED}`)],
    ['header', model(`${NAMED}\nX: y`)],
    ['header', model(`${NAMED}\rX: y`)],
    ['header', model(`X: \0\r\n${NAMED}`)],
    ['header', `--${BOUNDARY}\r\n${NAMED}\n\nm\r\n--${BOUNDARY}--`],
    ['header_too_large', model(`X: ${'x'.repeat(8_192)}\r\n${NAMED}`)],
    ['nested', model(`${FILE}\r\nContent-Type: Multipart/mixed; boundary=x`)],
    ['encoding', model(`${NAMED}\r\nContent-Transfer-Encoding: quoted-printable`)],
    ['encoding', model(`${NAMED}\r\nContent-Type: text/plain; charset=utf-16`)],
    ['encoding', model(`${NAMED}\r\nContent-Type: text/plain; charset=iso-8859-1`, '\u00c3\u00bc')],
    ['not_text', model(NAMED, '\u00fc')],
    ['file', model(`${NAMED}; filename="a"`)],
    ['file', model(`${NAMED}; filename=""`)],
    ['file', model(`${NAMED}; filename*=utf-8''a`)],
    ['content_length', model(`${NAMED}\r\nContent-Length: 2`)],
    ['boundary', model(NAMED, `m\n--${BOUNDARY}--`)],
    ['boundary', model(NAMED, `m\r--${BOUNDARY}--`)],
    ['boundary', model(NAMED, `m--${BOUNDARY}`)],
    ['boundary', model(NAMED, `m\r\n--${BOUNDARY}x`)],
    ['boundary', model(NAMED, `m\r\n--${BOUNDARY} `)],
    ['boundary', model(NAMED, `m\r\n--${BOUNDARY}\n`)],
    ['boundary', model(NAMED, `m\r\n--${BOUNDARY}-x`)],
    ['boundary', model(NAMED, `m\r\n--${BOUNDARY}--\n`)],
    ['boundary', model(NAMED, `m\r\n--${BOUNDARY}-- \r\n`)],
    ['boundary', `--${BOUNDARY}\rX${NAMED}\r\n\r\nm\r\n--${BOUNDARY}--`],
    ['boundary', `--${BOUNDARY}\r\n${NAMED}\r\n\r\nm\r\n--${BOUNDARY}-x\r\n`],
    ['boundary', `--${BOUNDARY}\r\n${NAMED}\r\n\r\n--${BOUNDARY}--`],
    ['boundary', `--${BOUNDARY}\r\n--${BOUNDARY}: x\r\n${NAMED}\r\n\r\nm\r\n--${BOUNDARY}--`],
    ['boundary', `x\n${model(NAMED)}`],
    ['boundary', `x${model(NAMED)}`],
    ['boundary', `\n${model(NAMED)}`],
    ['boundary', model(NAMED).replaceAll('\r\n', '\n')],
    ['boundary', `${model(NAMED)}\r\n${model(NAMED)}`],
    ['unfinished', ''],
    ['unfinished', 'x'],
    ['unfinished', `--${BOUNDARY}\r\n${NAMED}\r\n\r\nm`],
  ])('%s: %j', (code, text) => {
    expect(faultOf(text)).toBe(code)
  })

  it('and the fault names the field, for the client', () => {
    const { fault } = scan(Buffer.from(two(NAMED, NAMED)))
    expect(fault).toEqual({ code: 'duplicate', message: '`model` is given twice.', field: 'model' })
  })

  it('what is accepted with any byte changed, doubled or removed is the same model to lenient parsers', async () => {
    const { bytes } = bodyOf([
      { name: 'file', filename: 'a', content: 'x\r\n--b0und\r\n' },
      { name: 'model', content: 'm', lines: ['Content-Type: text/plain'] },
      { name: 'n', content: '1' },
    ])
    const codes = fc.oneof(fc.nat(255), fc.constantFrom(0x0d, 0x0a, 0x2d, 0x22, 0x3b, 0x20, 0x5c, 0x25))
    const change = fc.tuple(fc.nat(bytes.length - 1), fc.constantFrom('drop', 'double', 'swap'), codes)
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async changes => {
        let changed = bytes
        for (const [at, how, code] of changes) {
          const middle = { drop: [], double: [bytes[at]!, bytes[at]!], swap: [code] }[how]
          changed = Buffer.concat([changed.subarray(0, at), Buffer.from(middle), changed.subarray(at + 1)])
        }
        const scanner = scan(changed)
        if (scanner.fault) return
        accepted++
        const model = scanner.field('model')?.text
        for (const read of [modelByLines, modelByText, modelByFetch]) {
          const other = await read(changed)
          if (other !== 'rejected') expect(other).toBe(model)
        }
      }),
      { numRuns: 3_000 },
    )
    expect(accepted).toBeGreaterThan(100)
  })
})

/** Like Werkzeug: any line end before and after a boundary, and between headers. */
function modelByLines(bytes: Buffer): string | undefined {
  const line = '(?:\\r\\n|\\n|\\r)'
  const parts = bytes
    .toString()
    .split(new RegExp(`(?:^|${line})--${BOUNDARY}(?:--)?[^\\S\\r\\n]*(?=${line}|$)`))
  return modelIn(parts.map(part => part.replace(new RegExp(`^${line}`), '')))
}

/** Like Django: the boundary wherever it stands. */
function modelByText(bytes: Buffer): string | undefined {
  const parts = bytes.toString().split(`--${BOUNDARY}`)
  return modelIn(parts.map(part => part.replace(/^\r?\n/, '').replace(/\r?\n$/, '')))
}

/** The last field named so in any letter case; a file is none. */
function modelIn(parts: readonly string[]): string | undefined {
  let model: string | undefined
  for (const part of parts) {
    const [, head = '', content] = /^(.*?)(?:\r\n\r\n|\n\n|\r\r)(.*)$/s.exec(part) ?? []
    const [, name] = /[; ]name="?([^";]*)"?/i.exec(head) ?? []
    if (name?.trim().toLowerCase() === 'model' && !/filename/i.test(head)) model = content
  }
  return model
}

async function modelByFetch(bytes: Buffer): Promise<string | undefined> {
  const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }
  const form = await new Response(bytes, { headers }).formData().catch(() => undefined)
  if (!form) return 'rejected'
  const model = form.getAll('model').at(-1)
  return typeof model === 'string' ? model : undefined
}
