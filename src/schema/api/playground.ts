import { z } from 'zod'
import { CALL_PATHS } from '../paths.ts'
import type { Operation } from './types.ts'
import { call } from './usage.ts'

const event = z
  .discriminatedUnion('event', [
    z.strictObject({
      event: z.literal('head'),
      status: z.int(),
      request_id: z.string().nullable(),
      content_type: z.string().nullable(),
    }),
    z.strictObject({
      event: z.literal('data'),
      text: z.string().describe('A part of the body, as it came.'),
    }),
    z.strictObject({
      event: z.literal('end'),
      first_byte_ms: z.number().nullable().describe('From the request to the first byte of the body.'),
      total_ms: z.number(),
      call: call.nullable().describe('The line of the call log with the charge; null for a rejected call.'),
    }),
  ])
  .meta({ id: 'playground_event', description: 'The data of one event.' })

export const playgroundOperations = {
  call_playground: {
    method: 'POST',
    path: '/playground/calls',
    tag: 'call-logs',
    summary: 'Send a call to the gateway',
    description:
      'Relays one inference call to a gateway of this store, with the secret of a key, and answers with its answer as events. The call is a real one: it counts against the limits of the key and is charged. A user has at most four open at a time.',
    body: z
      .strictObject({
        secret: z
          .string()
          .max(512)
          .regex(/^[\x21-\x7e]+$/, 'printable characters without spaces')
          .meta({ format: 'password' })
          .describe('The secret of a key, as a header can have it.'),
        path: z.enum(CALL_PATHS),
        body: z.record(z.string(), z.json()).describe('The body of the call.'),
      })
      .meta({ id: 'playground_call' }),
    answer: {
      status: 200,
      description: 'Events; the `data` of each is one JSON object.',
      schema: event,
      isStream: true,
    },
    errors: ['no_gateway', 'too_many_open_requests'],
  },
} as const satisfies Record<string, Operation>
