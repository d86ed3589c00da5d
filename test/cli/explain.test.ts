import { describe, expect, it, onTestFinished } from 'vitest'
import { API_FAULTS } from '../../src/base/catalogue/api.ts'
import { COMMAND_FAULTS } from '../../src/base/catalogue/command.ts'
import { CONFIG_FAULTS } from '../../src/base/catalogue/config.ts'
import { HEALTH_REASONS } from '../../src/base/catalogue/health.ts'
import { WIRE_ERRORS } from '../../src/base/catalogue/wire.ts'
import { tempDir } from '../support/temp-dir.ts'
import { gw } from './in-process.ts'

const run = (...words: string[]) => gw(words, { cwd: tempDir(onTestFinished).path })

describe('gw explain', () => {
  it('says what a field is for, its type and its default, and what stands below a map', async () => {
    expect((await run('explain', 'endpoint.timeouts.idle')).stdout).toBe(
      'endpoint.timeouts.idle\n' +
        '  Between two chunks of the answer; a stalled stream is aborted.\n\n' +
        '  type      text, such as 30s, 5m, 1h30m\n' +
        '  default   2m\n',
    )
    await expect((await run('explain', 'endpoint.timeouts')).stdout).toMatchFileSnapshot(
      'golden/explain-timeouts.txt',
    )
    await expect((await run('explain', 'key.budget', '--format', 'json')).stdout).toMatchFileSnapshot(
      'golden/explain-key-budget.json.txt',
    )
  })

  it('takes a path as it stands in a file, and the name of a field alone', async () => {
    const asked = ['endpoints.openai.timeouts.first_byte', 'first_byte']
    for (const word of asked) {
      expect((await run('explain', word)).stdout).toMatch(/^endpoint\.timeouts\.first_byte\n/)
    }
    expect((await run('explain', 'rpm')).stdout).toMatch(/tenant\.limits\.rpm[\s\S]*key\.limits\.rpm/)
  })

  it('knows every code of the catalogue, and every reason of /health, in any case', async () => {
    const numbers = [COMMAND_FAULTS, CONFIG_FAULTS].flatMap(each =>
      Object.values(each).map(({ number }) => number),
    )
    const names = [WIRE_ERRORS, API_FAULTS, HEALTH_REASONS].flatMap(each => Object.keys(each))
    const codes = [...numbers, ...names]
    for (const code of codes) {
      const { exit, stdout } = await run('explain', code, '--format', 'json')
      expect({ code, exit }).toEqual({ code, exit: 0 })
      expect(JSON.parse(stdout).codes[0]).toMatchObject({ code, title: expect.any(String) })
    }
    expect((await run('explain', 'gw1202')).stdout).toBe(
      'GW1202  error of configuration files\n  An unknown field.\n  Remove it or correct its name.\n',
    )
  })

  it.each([
    ['endpoint.timeuots.idel', 'Did you mean endpoint.timeouts.idle?'],
    ['rate_limit_exeeded', 'Did you mean rate_limit_exceeded?'],
    ['GW12022', 'Did you mean GW1202?'],
    ['xyzzy', '`gw explain` alone lists the kinds'],
  ])('rejects %s with what was probably meant', async (word, hint) => {
    const { exit, stderr } = await run('explain', word)
    expect(exit).toBe(64)
    expect(stderr).toContain(hint)
  })
})

describe('gw schema', () => {
  it('prints the JSON Schema of a file, the same in text and JSON', async () => {
    const { stdout } = await run('schema')
    expect(JSON.parse(stdout)).toMatchObject({
      $schema: 'http://json-schema.org/draft-07/schema#',
      title: 'gw configuration',
    })
    expect((await run('schema', '--format', 'json')).stdout).toBe(stdout)
  })

  it('prints that of one kind with no more definitions than it needs', async () => {
    const schema = JSON.parse((await run('schema', 'publication')).stdout)
    expect(Object.keys(schema.properties)).toContain('bindings')
    expect(Object.keys(schema.definitions).sort()).toEqual(['inline_binding', 'interpolated'])
    const references = [...JSON.stringify(schema).matchAll(/#\/definitions\/(\w+)/g)].map(([, name]) => name)
    for (const name of references) expect(schema.definitions).toHaveProperty(name ?? '')
  })

  it('suggests the kind that was meant', async () => {
    const { exit, stderr } = await run('schema', 'endpoints')
    expect(exit).toBe(64)
    expect(stderr).toContain('Did you mean endpoint?')
  })
})
