import { z } from 'zod'
import { NODE_ADMISSIONS } from './node.ts'
import { onDisconnect, onUpstreamError, outputCap } from './outcomes.ts'
import { duration, size, text } from './scalars.ts'

const origin = z.string().superRefine((value, ctx) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const right = url && /^https?:$/.test(url.protocol) ? url.origin : undefined
  if (right === value) return
  const message =
    right === undefined
      ? 'an exact origin such as https://app.example.com, without a path or a wildcard'
      : `an origin as browsers send it: ${right}`
  ctx.addIssue({ code: 'custom', message, input: value })
})

/**
 * What an acknowledged charge survives. `power`: a power cut. `kill`: the end of the process, but a power cut may lose
 * what the operating system has not written yet.
 */
export const durability = z.enum(['power', 'kill'])
export type Durability = z.infer<typeof durability>

/** Settings that may change while the gateway runs. Addresses, store and tokens are flags and environment variables. */
export const settings = z
  .strictObject({
    maintenance: z
      .strictObject({
        enabled: z.boolean().default(false).describe('Whether it is on.'),
        message: text.default('The gateway is in maintenance.').describe('The error message for clients.'),
      })
      .prefault({})
      .describe('While enabled, inference answers 503.'),
    limits: z
      .strictObject({
        body: size({ minBytes: 1_024, maxBytes: 1_073_741_824 })
          .prefault('32MiB')
          .describe('The largest request body.'),
      })
      .prefault({})
      .describe('Bounds for every request.'),
    cors: z
      .strictObject({
        origins: z
          .array(origin)
          .max(100)
          .default([])
          .describe(
            'Origins of web pages, exactly as browsers send them, such as `https://app.example.com`. Users of a page can read the keys in it.',
          ),
      })
      .prefault({})
      .describe('The browser applications that may call `/v1`; none by default.'),
    log: z
      .strictObject({
        retention: duration({ minMs: 3_600_000, maxMs: 3_660 * 86_400_000 })
          .prefault('30d')
          .describe('How long call logs are kept.'),
        embeddings: z.boolean().default(false).describe('Also log calls of embeddings.'),
      })
      .prefault({})
      .describe('The call log: a line per call, never with a prompt.'),
    responses: z
      .strictObject({
        retention: duration({ minMs: 3_600_000, maxMs: 3_660 * 86_400_000 })
          .prefault('30d')
          .describe('How long clients can refer to an answer that an upstream keeps.'),
      })
      .prefault({})
      .describe('Answers of `/v1/responses` that an upstream keeps, by their ids.'),
    ledger: z
      .strictObject({
        durability: durability
          .default('power')
          .describe(
            '`power`: an answer is whole only when its charge is on the disk. `kill`: when the operating system has it, which is faster; a power cut may lose the charges of the last second.',
          ),
      })
      .prefault({})
      .describe('How holds and charges are written.'),
    revisions: z
      .strictObject({
        retention: duration({ minMs: 86_400_000, maxMs: 3_660 * 86_400_000 })
          .prefault('365d')
          .describe('How long the states of revisions are kept, for `gw diff` and rollbacks.'),
        keep: z
          .int()
          .min(100)
          .max(1_000_000)
          .default(100)
          .describe('The number of newest revisions that can always be rolled back to, however old.'),
      })
      .prefault({})
      .describe('The history of the configuration. Its entries are kept forever, their states for a time.'),
    health: z
      .strictObject({
        unhealthy_after: z
          .int()
          .min(1)
          .max(1_000)
          .default(3)
          .describe('Consecutive failures that make an endpoint unhealthy.'),
        probe_min: duration()
          .prefault('5s')
          .describe('The first pause between probes of an unhealthy endpoint.'),
        probe_max: duration().prefault('2m').describe('The longest pause between them.'),
      })
      .prefault({})
      .describe('When an endpoint counts as unhealthy, and how it recovers.'),
    nodes: z
      .strictObject({
        admission: z
          .enum(NODE_ADMISSIONS)
          .default('declared')
          .describe(
            '`declared`: only nodes under `nodes` may join. `token`: every holder of a join token may, with the labels of its token.',
          ),
      })
      .prefault({})
      .describe('Machines that dial in and serve models.'),
    on_disconnect: onDisconnect
      .default('abort')
      .describe(
        'If a client disconnects: `abort` the upstream at once and charge an estimate, or `drain`: read on to charge the exact usage.',
      ),
    on_upstream_error: onUpstreamError
      .default('charge')
      .describe(
        'If an upstream fails in mid-stream: `charge` the part that the client received, or make the call `free`.',
      ),
    show_endpoints: z
      .boolean()
      .default(true)
      .describe(
        'Whether clients and tenants see names of endpoints: in `x-gw-endpoint`, in error messages, and in the calls and the usage of a tenant. Logs and metrics always contain them.',
      ),
    require_price: z
      .boolean()
      .default(false)
      .describe(
        'Reject calls of publications without a price in force, or with one that names no unit of the call (403), instead of serving them free and counted as unpriced.',
      ),
    output_cap: outputCap
      .default('none')
      .describe(
        'Adds this field to requests without their own output limit: the reservation then limits the answer, and may shrink to the rest of quota, budget and balance.',
      ),
    currency: z
      .string()
      .regex(/^[^\s\p{C}]{1,16}$/u, 'a label of 1 to 16 characters')
      .default('USD')
      .describe('A label for amounts of money; nothing is converted.'),
  })
  .meta({ id: 'settings', description: 'Settings that take effect without a restart.' })
