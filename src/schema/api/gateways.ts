import { z } from 'zod'
import { pageOf, pageQuery, time } from './shapes.ts'
import type { Operation } from './types.ts'

const id = z.string().min(1).max(64)

const joined = z
  .strictObject({
    id: id.describe('New at each start.'),
    name: z.string().nullable().describe('Host and process; null until its first heartbeat.'),
    state: z
      .enum(['alive', 'late', 'fenced'])
      .describe(
        '`late`: no sign of life for seconds. `fenced`: it writes nothing more, and others take over what it has.',
      ),
    version: z.string().nullable(),
    revision: z.int().nullable().describe('The revision that it serves.'),
    url: z.string().nullable().describe('The address on which it alone listens.'),
    started_at: time.nullable(),
    seen_at: time.nullable().describe('The last heartbeat.'),
    lease_until: time
      .nullable()
      .describe('Until when it keeps its limits without a sign of life; null: until its process ends.'),
    shares: z
      .int()
      .nullable()
      .describe('Of how many limits it has a share; null: of all, because it is the only one.'),
    open_calls: z.int().describe('Its calls that the store knows and that have no end there.'),
  })
  .meta({ id: 'joined_gateway', description: 'A gateway that has joined the others of the store.' })

const forgotten = z
  .strictObject({
    id,
    forgotten: z.literal(true),
    shares: z.int().describe('Of how many limits it had a share.'),
    open_calls: z.int().describe('How many of its calls are settled as interrupted.'),
  })
  .meta({ id: 'forgotten_gateway', description: 'A gateway that will never return.' })

export const gatewayOperations = {
  list_gateways: {
    method: 'GET',
    path: '/gateways',
    tag: 'status',
    summary: 'List gateways',
    description:
      'All that have joined the store, dead or alive, with what they hold. `GET /status` asks them how they are.',
    query: pageQuery,
    answer: { status: 200, description: 'Sorted by id.', schema: pageOf(joined) },
  },
  forget_gateway: {
    method: 'POST',
    path: '/gateways/{id}/forget',
    tag: 'status',
    summary: 'Forget a gateway that will never return',
    description:
      'It is fenced at once: it can write no call any more, and ends if it comes back. Gateways that serve the store settle its open calls as interrupted, and free its shares of limits, within a second.',
    params: z.strictObject({ id: id.describe('The `id` of the gateway.') }),
    query: z.strictObject({
      force: z
        .enum(['true', 'false'])
        .optional()
        .describe(
          'Also one that may be alive, of a store in PostgreSQL. Its calls in flight are charged as interrupted, whatever comes of them.',
        ),
    }),
    answer: { status: 200, description: 'It is fenced.', schema: forgotten },
    errors: ['gateway_alive'],
  },
} as const satisfies Record<string, Operation>
