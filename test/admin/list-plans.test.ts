import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationId } from '../../src/schema/api/operations.ts'
import { endpoint, key, put } from '../store/samples.ts'
import { joinedNode } from '../support/joined-node.ts'
import { statementsOf } from '../support/statements.ts'
import { type ControlScene, controlScene, type LoggedIn } from './scene.ts'

/** Each list of the console, with each of its filters that the store knows. */
const LISTS: [OperationId, Readonly<Record<string, string>>?][] = [
  ['list_calls'],
  ['list_calls', { since: '2026-01-15T00:00:00Z' }],
  ['list_calls', { key: 'app' }],
  ['list_calls', { tenant: 'acme' }],
  ['list_calls', { model: 'chat' }],
  ['list_calls', { endpoint: 'east' }],
  ['list_calls', { node: 'gpu-7' }],
  ['list_calls', { min_status: '500' }],
  ['list_calls', { outcome: 'failed' }],
  ['list_calls', { request_id: 'req_1' }],
  ['list_keys'],
  ['list_keys', { q: 'a' }],
  ['list_keys', { tenant: 'acme' }],
  ['list_keys', { state: 'suspended' }],
  ['list_keys', { unused: '30d' }],
  ['list_keys', { expiring: '14d' }],
  ['list_models'],
  ['list_publications'],
  ['list_publications', { q: 'a' }],
  ['list_bindings', { publication: 'chat' }],
  ['list_bindings', { endpoint: 'east' }],
  ['list_endpoints'],
  ['list_endpoints', { owner: 'rest' }],
  ['list_tenants'],
  ['list_nodes'],
  ['list_join_tokens'],
  ['list_audit'],
  ['list_audit', { target: 'key/app' }],
  ['list_audit', { user: 'ada' }],
  ['list_audit', { action: 'issue_key' }],
  ['list_revisions'],
  ['list_users'],
  ['list_tokens'],
  ['get_usage', { by: 'key', key: 'app' }],
  ['get_usage', { by: 'model' }],
  ['get_usage', { by: 'day', split: 'tenant' }],
  ['get_usage', { by: 'key' }],
  ['get_usage', { by: 'hour', since: '2026-01-15T00:00:00Z', until: '2026-01-16T00:00:00Z' }],
]

/**
 * Tables that grow with use or with the configuration. Others have a row for each user, node or token, and are read
 * as a whole.
 */
const LARGE = [
  'resources',
  'call_logs',
  'call_log_pages',
  'call_log_values',
  'ledger',
  'adjustments',
  'usage_quarters',
  'usage_days',
  'usage_key_days',
  'usage_model_days',
  'audit',
  'revisions',
  'key_secrets',
]

let scene: ControlScene
let admin: LoggedIn
const ends: (() => unknown)[] = []

beforeAll(async () => {
  scene = await controlScene(end => void ends.unshift(end))
  await put(scene.store, endpoint('east'), key('app'))
  await joinedNode(scene.storeAt, 'gpu-7')
  await scene.addUser('ada', 'admin')
  admin = await scene.logIn('ada')
})
afterAll(async () => {
  for (const end of ends) await end()
})

/** The steps of each statement of an operation, by SQLite's planner. */
async function stepsOf(id: OperationId, query: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const statements = await statementsOf(async () => {
    const { status, body } = await scene.call(id, { query, as: admin })
    expect(status, JSON.stringify(body)).toBe(200)
  })
  const raw = new Database(scene.storeAt, { readonly: true })
  const steps = statements
    .filter(text => /^\s*(select|with)/i.test(text))
    .flatMap(text => {
      const values = Array.from({ length: text.split('?').length - 1 }, () => 0)
      const plan = raw.prepare(`explain query plan ${text}`).all(...values) as { detail: string }[]
      return plan.map(({ detail }) => `${detail} · ${text}`)
    })
  raw.close()
  return steps
}

describe('each list finds its rows by an index', () => {
  test.each(LISTS)('%s %o', async (id: OperationId, query = {}) => {
    const steps = await stepsOf(id, query)
    expect(steps.length).toBeGreaterThan(0)
    const scans = steps.filter(step => {
      const [, table = ''] = /^SCAN (\S+)/.exec(step) ?? []
      // The newest rows of all are read in the order of the table, up to the limit.
      return LARGE.includes(table) && !/^[^·]*· (?!.* where ).* order by \S+( desc)? limit /.test(step)
    })
    expect(scans).toEqual([])
  })
})
