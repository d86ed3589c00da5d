import * as whole from 'undici'
import { expect, test } from 'vitest'
import { buildConnector, Client, request } from '../../src/upstream/undici.ts'

test('the parts that are loaded are those that the package gives out', () => {
  expect(Client).toBe(whole.Client)
  expect(whole.Client.prototype).toHaveProperty('request', request)
  expect(buildConnector).toBe(whole.buildConnector)
})
