import { execFileSync } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { resolveSecret, SecretError } from '../../src/config/secrets.ts'
import { tempDir } from '../support/temp-dir.ts'

const environment = { A_KEY: 'sk-from-the-environment', EMPTY: '' }
const reasonOf = async (reference: { env?: string; file?: string }) => {
  const error: unknown = await resolveSecret(reference, { environment }).catch((thrown: unknown) => thrown)
  if (!(error instanceof SecretError)) throw new Error('expected a SecretError')
  expect(error.code).toBe('secret_unresolved')
  return error.message
}

describe('resolveSecret', () => {
  it('reads a variable as it is', async () => {
    expect(await resolveSecret({ env: 'A_KEY' }, { environment })).toBe('sk-from-the-environment')
  })

  it('reads a file anew each time, without the line break at its end', async () => {
    const dir = tempDir(onTestFinished)
    const file = dir.write('key', 'first \r\n')
    expect(await resolveSecret({ file }, { environment })).toBe('first ')
    dir.write('key', 'second\n\n')
    expect(await resolveSecret({ file }, { environment })).toBe('second\n')
  })

  it('says which reference leads to no secret, and never what it found there', async () => {
    const dir = tempDir(onTestFinished)
    expect(await reasonOf({ env: 'NOT_SET' })).toBe('the variable NOT_SET is not set')
    expect(await reasonOf({ env: 'toString' })).toBe('the variable toString is not set')
    expect(await reasonOf({ env: 'EMPTY' })).toBe('the variable EMPTY is empty')
    expect(await reasonOf({ file: dir.at('none') })).toBe(`the file ${dir.at('none')} does not exist`)
    expect(await reasonOf({ file: dir.path })).toBe(`the file ${dir.path} cannot be read`)
    execFileSync('mkfifo', [dir.at('pipe')])
    expect(await reasonOf({ file: dir.at('pipe') })).toBe(`the file ${dir.at('pipe')} cannot be read`)
    const empty = dir.write('empty', '\n')
    expect(await reasonOf({ file: empty })).toBe(`the file ${empty} is empty`)
    const large = dir.write('large', 'x'.repeat(65_537))
    expect(await reasonOf({ file: large })).toBe(`the file ${large} is larger than 65536 bytes`)
  })
})
