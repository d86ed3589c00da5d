import { describe, expect, it } from 'vitest'
import { allFields, fieldAt } from '../../src/schema/fields.ts'

const fields = allFields()

describe('the fields of the configuration', () => {
  it('each say what they are for', () => {
    const silent = [...fields.values()]
      .filter(({ description }) => description === '')
      .map(({ path }) => path)
    expect(silent).toEqual([])
  })

  it('say their type in words, their default as YAML, and what stands below them', () => {
    expect(fields.get('endpoint.timeouts.idle')).toEqual({
      path: 'endpoint.timeouts.idle',
      description: 'Between two chunks of the answer; a stalled stream is aborted.',
      type: 'text, such as 30s, 5m, 1h30m',
      initial: '2m',
      required: false,
      below: [],
    })
    expect(fields.get('endpoint.protocol')).toMatchObject({
      type: 'one of openai, anthropic',
      required: true,
    })
    expect(fields.get('binding.weight')?.type).toBe('whole number from 0 to 1000000')
    expect(fields.get('key.models')).toMatchObject({ type: 'list of: text', initial: '["*"]' })
    expect(fields.get('endpoint.timeouts')?.below).toContain('endpoint.timeouts.total')
  })
})

describe('a path', () => {
  it.each([
    ['endpoint.timeouts.idle', 'endpoint.timeouts.idle'],
    ['endpoints.timeouts.idle', 'endpoint.timeouts.idle'],
    ['endpoints.openai.timeouts.idle', 'endpoint.timeouts.idle'],
    ['endpoints.gpt-4.1.timeouts.idle', 'endpoint.timeouts.idle'],
    ['keys.*.budget', 'key.budget'],
    ['bindings[0].weight', 'binding.weight'],
    ['publications.chat.bindings[1].priority', 'publication.bindings.priority'],
    ['tenants.acme', 'tenant'],
    ['settings.limits.body', 'settings.limits.body'],
    ['set', 'set'],
  ])('such as %s leads to its field', (asked, path) => {
    expect(fieldAt(asked, fields)?.path).toBe(path)
  })

  it.each(['endpoint.timeout', 'nothing', '', 'settings.timeouts'])('such as %s leads nowhere', asked => {
    expect(fieldAt(asked, fields)).toBeUndefined()
  })
})
