import { z } from 'zod'
import { text } from '../scalars.ts'
import { userName } from '../user.ts'
import { pageOf, pageQuery, time } from './shapes.ts'
import type { Operation } from './types.ts'

const status = z
  .strictObject({
    status: z.enum(['ok', 'degraded', 'draining', 'maintenance']),
    revision: z.int().describe('The revision that is served.'),
    store_revision: z.int().describe('The newest one.'),
    reasons: z.array(z.string()).describe('What is not as it should be, each as `code: sentence`.'),
    in_flight: z.int().describe('Requests at hand.'),
    reload: z.strictObject({
      ok: z.boolean(),
      at: time,
      rejected_revision: z.int().optional(),
      problems: z.array(z.string()).optional(),
    }),
    ledger: z
      .strictObject({ ok: z.boolean() })
      .optional()
      .describe('Absent where this process bills nothing.'),
    endpoints: z
      .strictObject({
        healthy: z.int(),
        unhealthy: z.int(),
        unknown: z.int().describe('They have neither answered nor failed yet.'),
      })
      .optional()
      .describe('How many of the enabled endpoints are how; absent where this process has no gateway.'),
  })
  .meta({ id: 'status', description: 'What this process serves now, as `/health` tells it.' })

const line = z
  .strictObject({
    id: z.int(),
    at: time,
    user: z.string(),
    role: z.string(),
    origin: z.enum(['rest', 'cli']).describe('This API, or the command line.'),
    address: z.string().optional().describe('From where, of `rest`.'),
    action: z.string().describe('The operation.'),
    target: z.string().optional().describe('What it was about.'),
    revision: z.int().optional().describe('The revision that it made.'),
    request_id: z.string().optional(),
  })
  .meta({ id: 'audit_line', description: 'Who changed what, when, from where.' })

const maintenance = z
  .strictObject({
    on: z.boolean().describe('Inference answers 503.'),
    message: z.string().describe('What clients are told while it is on.'),
    declared: z.boolean().describe('The settings of the configuration say so.'),
    switched: z
      .strictObject({ since: time, author: z.string().optional(), message: z.string().optional() })
      .optional()
      .describe('It was switched on by hand.'),
    file: z.string().optional().describe('Where the settings are declared.'),
    line: z.int().optional(),
  })
  .meta({ id: 'maintenance' })

export const maintenanceOperations = {
  get_maintenance: {
    method: 'GET',
    path: '/maintenance',
    tag: 'maintenance',
    summary: 'Whether the gateway is in maintenance',
    answer: { status: 200, description: 'How it stands.', schema: maintenance },
  },
  set_maintenance: {
    method: 'PUT',
    path: '/maintenance',
    tag: 'maintenance',
    summary: 'Switch maintenance on or off, at once',
    description: 'Beside the configuration: what its settings say holds again when the switch is off.',
    body: z
      .strictObject({
        enabled: z.boolean(),
        message: text.optional().describe('What clients are told while it is on.'),
      })
      .meta({ id: 'maintenance_switch' }),
    answer: { status: 200, description: 'How it stands now.', schema: maintenance },
    errors: ['managed_by_config'],
  },
} as const satisfies Record<string, Operation>

export const statusOperations = {
  get_status: {
    method: 'GET',
    path: '/status',
    tag: 'status',
    summary: 'What is served now',
    answer: { status: 200, description: 'The status of this process.', schema: status },
  },
} as const satisfies Record<string, Operation>

export const auditOperations = {
  list_audit: {
    method: 'GET',
    path: '/audit',
    tag: 'audit',
    summary: 'Who changed what, when, from where',
    query: pageQuery.extend({
      user: userName.optional(),
      action: z.string().max(64).optional(),
      target: z.string().max(512).optional(),
    }),
    answer: { status: 200, description: 'Newest first.', schema: pageOf(line) },
  },
} as const satisfies Record<string, Operation>
