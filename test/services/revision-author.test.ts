import { execFileSync } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { authorship } from '../../src/services/revision-author.ts'
import { tempDir } from '../support/temp-dir.ts'

function repository() {
  const dir = tempDir(onTestFinished)
  const environment = {
    PATH: process.env['PATH'],
    HOME: dir.path,
    USER: 'ops',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.com',
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@example.com',
  }
  const git = (...words: string[]) =>
    execFileSync('git', words, { cwd: dir.path, env: environment, encoding: 'utf8' }).trim()
  return { dir, git, environment, ports: { environment, cwd: dir.path } }
}

describe('the author of a revision', () => {
  it('is the author of the commit that holds the files, named with its hash', async () => {
    const { dir, git, ports } = repository()
    dir.write('conf/gw.yaml', 'version: 1\n')
    git('init', '-q')
    git('add', '.')
    git('commit', '-q', '-m', 'first')
    const gitCommit = git('rev-parse', 'HEAD')
    const expected = { author: 'Ada <ada@example.com>', gitCommit }
    expect(await authorship(['conf'], ports)).toEqual(expected)
    expect(await authorship(['conf/gw.yaml'], ports)).toEqual(expected)
  })

  it('flags the commit as dirty where the files differ from it, not where others do', async () => {
    const { dir, git, ports } = repository()
    dir.write('conf/gw.yaml', 'version: 1\n')
    git('init', '-q')
    git('add', '.')
    git('commit', '-q', '-m', 'first')
    const hash = git('rev-parse', 'HEAD')
    dir.write('README', 'elsewhere\n')
    expect((await authorship(['conf'], ports)).gitCommit).toBe(hash)
    dir.write('conf/more.yaml', 'version: 1\n')
    expect((await authorship(['conf'], ports)).gitCommit).toBe(`${hash}-dirty`)
  })

  it('is the person who is logged in where there is no repository', async () => {
    const { dir, ports } = repository()
    dir.write('gw.yaml', 'version: 1\n')
    expect(await authorship(['gw.yaml'], ports)).toEqual({ author: 'ops' })
    expect(await authorship(['-'], ports)).toEqual({ author: 'ops' })
  })

  it('does not need git to be there', async () => {
    const { dir, ports } = repository()
    dir.write('gw.yaml', 'version: 1\n')
    const environment = { ...ports.environment, PATH: dir.path }
    expect(await authorship(['gw.yaml'], { environment, cwd: dir.path })).toEqual({ author: 'ops' })
  })
})
