import { expect, it } from 'vitest'
import { unservable } from '../../src/services/serve-check.ts'

it('where variables are missing, they are what is to be set: an apply would change nothing', () => {
  const error = unservable([
    'endpoint one: the variable ONE_KEY is not set',
    'endpoint two: the variable TWO_KEY is empty',
    'endpoint three: the variable ONE_KEY is not set',
  ])
  expect(error.code).toBe('nothing_to_serve')
  expect(error.hint).toBe('Set ONE_KEY, TWO_KEY in the environment of `gw serve`, and start it again.')
})

it('anything else is corrected in the configuration', () => {
  expect(unservable(['publication chat: no such endpoint']).hint).toContain('gw apply')
})
