import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'
import { shell } from './process.ts'

const FILES = [
  'config/gateway.yaml',
  'config/policies.test.yaml',
  'gw.schema.json',
  '.github/workflows/gw.yml',
  '.gitignore',
]

describe('gw init', () => {
  it('writes a configuration that validates, with tests that pass', async () => {
    const dir = tempDir(onTestFinished)
    const made = await gw(['init', 'mine'], { cwd: dir.path })
    expect(made.exit).toBe(0)
    expect(made.stdout).toBe(FILES.map(file => `mine/${file}\n`).join(''))
    const world = { cwd: dir.at('mine') }
    expect((await gw(['validate'], world)).stdout).toBe('Valid: 5 resources in 1 file, set default.\n')
    expect((await gw(['test'], world)).exit).toBe(0)
  })

  it('writes the endpoint, the price and the key variable of a vendor that is named', async () => {
    const dir = tempDir(onTestFinished)
    const made = await gw(
      ['init', 'mine', '--vendor', 'anthropic', '--model', 'claude-opus-5-5', '--prices'],
      { cwd: dir.path },
    )
    expect(made.exit).toBe(0)
    expect(made.stderr).toContain('export ANTHROPIC_API_KEY=')
    expect(parse(readFileSync(dir.at('mine/config/gateway.yaml'), 'utf8'))).toMatchObject({
      endpoints: {
        anthropic: {
          protocol: 'anthropic',
          base_url: 'https://api.anthropic.com/v1',
          served_model: 'claude-opus-5-5',
          upstream_key: { env: 'ANTHROPIC_API_KEY' },
        },
      },
      publications: { 'claude-opus-5-5': { price: { input: '4', output: '20' } } },
      keys: { 'my-app': { models: ['claude-opus-5-5'] } },
    })
    const world = { cwd: dir.at('mine') }
    expect((await gw(['validate'], world)).exit).toBe(0)
    expect((await gw(['test'], world)).exit).toBe(0)
  })

  it.each([
    ['a vendor that is not in the table', ['--vendor', 'opnai', '--model', 'a'], 'did you mean openai?'],
    ['no model', ['--vendor', 'openai'], 'Pass --model NAME'],
    ['a model with a space', ['--vendor', 'openai', '--model', 'a b'], 'without spaces'],
    [
      'an address with parts of one’s own',
      ['--vendor', 'azure', '--model', 'a'],
      'has placeholders: resource',
    ],
    ['no address', ['--vendor', 'vllm', '--model', 'a', '--base-url', 'gpu-1:8000'], '--base-url: '],
    ['a model that is not listed', ['--vendor', 'openai', '--model', 'a', '--prices'], 'has no a of OpenAI'],
    ['a model without a vendor', ['--model', 'a'], 'need a vendor'],
  ])('rejects %s, and writes nothing', async (_what, words, said) => {
    const dir = tempDir(onTestFinished)
    const { exit, stderr } = await gw(['init', 'mine', ...words], { cwd: dir.path })
    expect(exit).toBe(64)
    expect(stderr).toContain(said)
    expect(existsSync(dir.at('mine'))).toBe(false)
  })

  it('rejects a folder with a gw.yaml: two configurations in one place contradict each other', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('gw.yaml', 'version: 1')
    const { exit, stderr } = await gw(['init'], { cwd: dir.path })
    expect(exit).toBe(4)
    expect(stderr).toContain('gw.yaml')
    expect(existsSync(dir.at('config'))).toBe(false)
  })

  it('overwrites nothing, and writes all or nothing', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('gw.schema.json', 'mine')
    const { exit, stderr } = await gw(['init'], { cwd: dir.path })
    expect(exit).toBe(4)
    expect(stderr).toContain('gw.schema.json')
    expect(existsSync(dir.at('config'))).toBe(false)
    expect(readFileSync(dir.at('gw.schema.json'), 'utf8')).toBe('mine')
  })

  it('leaves a .gitignore alone, and says what it should name', async () => {
    const dir = tempDir(onTestFinished)
    dir.write('.gitignore', 'node_modules\n')
    const { exit, stdout, stderr } = await gw(['init', '--format', 'json'], { cwd: dir.path })
    expect(exit).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ directory: dir.path, files: FILES.slice(0, -1) })
    expect(stderr).toContain('add data/ and .env')
    expect(readFileSync(dir.at('.gitignore'), 'utf8')).toBe('node_modules\n')
  })

  it('writes a workflow whose steps run as they stand, and tell what a pull request changes', async () => {
    const dir = tempDir(onTestFinished)
    await gw(['init', 'mine'], { cwd: dir.path })
    const workflow = parse(readFileSync(dir.at('mine/.github/workflows/gw.yml'), 'utf8')) as {
      jobs: { check: { steps: readonly { name?: string; run?: string }[] } }
    }
    const step = (name: string) => workflow.jobs.check.steps.find(each => each.name === name)?.run ?? 'false'
    const git = 'git -c user.email=a@example.com -c user.name=a'
    const script = [
      `git init -q -b main . && git add -A && ${git} commit -q -m one && export BASE=$(git rev-parse HEAD)`,
      `sed -i 's/rpm: 600/rpm: 60/' config/gateway.yaml`,
      step('Validate'),
      step('Test'),
      step('What would change'),
    ].join('\n')
    const { exit, stdout, stderr } = await shell(`set -e\n${script}`, { cwd: dir.at('mine') })
    expect({ exit, stderr }).toMatchObject({ exit: 0 })
    expect(stdout).toContain(
      '::notice title=update key my-app,file=config/gateway.yaml,line=43::limits.rpm  600 → 60\n',
    )
    expect(stdout).toContain('::notice title=gw diff::')
  })
})

describe('gw diff --format github', () => {
  it('annotates what changes at its line, warns of what goes away, and ends with the verdict', async () => {
    const dir = tempDir(onTestFinished)
    const world = { cwd: dir.path }
    const endpoint = '{ protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: m }'
    const tree = (models: string, more = '') =>
      `version: 1\nendpoints:\n  one: ${endpoint}\n${more}publications:\n  chat: { bindings: [{ endpoint: one }] }\nkeys:\n  app: { kind: platform, models: ${models} }\n`
    dir.write('gw.yaml', tree('[chat]', `  two: ${endpoint}\n`))
    await gw(['apply', '--yes', '--skip-probe'], world)
    await gw(['keys', 'issue', 'app'], world)
    dir.write('gw.yaml', tree('[other]'))
    const { exit, stdout } = await gw(['diff', '--format', 'github', '--exit-code'], world)
    expect(exit).toBe(2)
    await expect(stdout).toMatchFileSnapshot('golden/diff.github.txt')
  })
})
