import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter(file => /\.(ts|tsx|mjs|js|md|yaml)$/.test(file) && existsSync(join(ROOT, file)))
const texts = new Map(files.map(file => [file, readFileSync(join(ROOT, file), 'utf8')]))

/** Every match of `pattern` in the tracked texts, with its file. */
function* references(pattern: RegExp): Generator<{ readonly file: string; readonly match: RegExpExecArray }> {
  for (const [file, text] of texts) for (const match of text.matchAll(pattern)) yield { file, match }
}

describe('references', () => {
  it('to sections of the specification name a heading of that number', () => {
    const missing = [...references(/spec\/([a-z-]+\.md) §(\d+)/g)].filter(
      ({ match: [, page = '', number = ''] }) =>
        !new RegExp(`^## §${number} `, 'm').test(texts.get(`docs/spec/${page}`) ?? ''),
    )
    expect(missing.map(({ file, match }) => `${file}: ${match[0]}`)).toEqual([])
  })

  it('to sections stand behind the name of a page of docs/spec', () => {
    const bare = [...references(/(\S+ )?§\d+/g)].filter(
      ({ file, match }) => !file.startsWith('docs/spec/') && !/spec\/[a-z-]+\.md $/.test(match[1] ?? ''),
    )
    // Those of other standards have the standard's name or address before them: a number, or capitals.
    const ours = bare.filter(({ match }) => !/[\dA-Z]|:\/\//.test(match[1] ?? ''))
    expect(ours.map(({ file, match }) => `${file}: ${match[0]}`)).toEqual([])
  })

  it('to decisions name one page, and each number stands for one decision', () => {
    const pages = files.filter(file => /^docs\/decisions\/\d{4}-/.test(file)).map(file => file.slice(15, 19))
    expect(new Set(pages).size).toBe(pages.length)
    const missing = [...references(/\b(?:ADR|[Dd]ecision) (\d{1,4})\b/g)].filter(
      ({ match: [, number = ''] }) => !pages.includes(number.padStart(4, '0')),
    )
    expect(missing.map(({ file, match }) => `${file}: ${match[0]}`)).toEqual([])
  })

  it('to pages of docs name files that exist', () => {
    const missing = [...references(/\bdocs\/[A-Za-z0-9_./-]+\.(?:md|json|yaml|svg)\b/g)].filter(
      ({ match }) => !existsSync(join(ROOT, match[0])),
    )
    expect(missing.map(({ file, match }) => `${file}: ${match[0]}`)).toEqual([])
  })

  it('of one document to another resolve', () => {
    const missing = [...references(/\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)/g)].filter(
      ({ file, match: [, target = ''] }) =>
        file.endsWith('.md') && !existsSync(join(ROOT, dirname(file), target)),
    )
    expect(missing.map(({ file, match }) => `${file}: ${match[1]}`)).toEqual([])
  })

  it('to documents that the project does not have are gone', () => {
    const old = [...references(/\b(?:DESIGN|WIRE|MONEY|SECURITY|HOUSE)(?: §|, ")/g)]
    expect(old.map(({ file, match }) => `${file}: ${match[0]}`)).toEqual([])
  })
})
