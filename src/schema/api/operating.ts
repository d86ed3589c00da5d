import { z } from 'zod'
import { text } from '../scalars.ts'
import { userName } from '../user.ts'
import { pageOf, pageQuery, time } from './shapes.ts'
import type { Operation } from './types.ts'

const status = z
  .strictObject({
    status: z.enum(['ok', 'degraded', 'draining', 'maintenance']),
    revision: z.int().describe('The revision that is served.'),
    store_revision: z.int().describe('The newest revision of the store.'),
    reasons: z.array(z.string()).describe('Problems, each as `code: sentence`.'),
    in_flight: z.int().describe('Requests in flight.'),
    reload: z.strictObject({
      ok: z.boolean(),
      at: time,
      rejected_revision: z.int().optional(),
      problems: z.array(z.string()).optional(),
    }),
    ledger: z.strictObject({ ok: z.boolean() }).optional().describe('Absent if this process has no ledger.'),
    endpoints: z
      .strictObject({
        healthy: z.int(),
        unhealthy: z.int(),
        unknown: z.int().describe('Endpoints that have neither answered nor failed yet.'),
      })
      .optional()
      .describe('Counts of enabled endpoints by health; absent if this process has no gateway.'),
  })
  .meta({ id: 'status', description: 'The status of this process, as reported by `/health`.' })

const line = z
  .strictObject({
    id: z.int(),
    at: time,
    user: z.string(),
    role: z.string(),
    origin: z.enum(['rest', 'cli']).describe('This API, or the command line.'),
    address: z.string().optional().describe('The client address, for `rest`.'),
    action: z.string().describe('The operation.'),
    target: z.string().optional().describe('The target of the change.'),
    revision: z.int().optional().describe('The revision that the change made.'),
    request_id: z.string().optional(),
  })
  .meta({ id: 'audit_line', description: 'A line of the audit log: who changed what, when and from where.' })

const maintenance = z
  .strictObject({
    on: z.boolean().describe('Inference answers 503.'),
    message: z.string().describe('The error message for clients.'),
    declared: z.boolean().describe('Maintenance is on in the configured settings.'),
    switched: z
      .strictObject({ since: time, author: z.string().optional(), message: z.string().optional() })
      .optional()
      .describe('Maintenance was switched on manually.'),
    file: z.string().optional().describe('The file that declares the settings.'),
    line: z.int().optional(),
  })
  .meta({ id: 'maintenance' })

export const maintenanceOperations = {
  get_maintenance: {
    method: 'GET',
    path: '/maintenance',
    tag: 'maintenance',
    summary: 'Show maintenance mode',
    answer: { status: 200, description: 'The state of maintenance mode.', schema: maintenance },
  },
  set_maintenance: {
    method: 'PUT',
    path: '/maintenance',
    tag: 'maintenance',
    summary: 'Switch maintenance mode on or off',
    description:
      'Takes effect at once, outside of the configuration: its settings apply again when the switch is off.',
    body: z
      .strictObject({
        enabled: z.boolean(),
        message: text.optional().describe('The error message for clients.'),
      })
      .meta({ id: 'maintenance_switch' }),
    answer: {
      status: 200,
      description: 'The new state of maintenance mode.',
      schema: maintenance
        .safeExtend({ changed: z.boolean().describe('False if nothing changed.') })
        .meta({ id: 'maintenance_switched' }),
    },
    errors: ['managed_by_config'],
  },
} as const satisfies Record<string, Operation>

export const statusOperations = {
  get_status: {
    method: 'GET',
    path: '/status',
    tag: 'status',
    summary: 'Show the status',
    answer: { status: 200, description: 'The status of this process.', schema: status },
  },
} as const satisfies Record<string, Operation>

export const auditOperations = {
  list_audit: {
    method: 'GET',
    path: '/audit',
    tag: 'audit',
    summary: 'List the audit log',
    query: pageQuery.extend({
      user: userName.optional(),
      action: z.string().max(64).optional(),
      target: z.string().max(512).optional(),
    }),
    answer: { status: 200, description: 'Newest first.', schema: pageOf(line) },
  },
} as const satisfies Record<string, Operation>
