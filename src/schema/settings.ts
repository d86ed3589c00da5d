import { z } from 'zod'
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

/** What may change while the gateway runs. Addresses, store and tokens are flags and environment. */
export const settings = z
  .strictObject({
    maintenance: z
      .strictObject({
        enabled: z.boolean().default(false).describe('Whether it is on.'),
        message: text.default('The gateway is in maintenance.').describe('What clients are told.'),
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
            'Origins of web pages, exactly as browsers send them, such as `https://app.example.com`. Keys that pages hold can be read by their users.',
          ),
      })
      .prefault({})
      .describe('Which browser applications may call `/v1` from their pages; none by default.'),
    log: z
      .strictObject({
        retention: duration({ minMs: 3_600_000, maxMs: 3_660 * 86_400_000 })
          .prefault('30d')
          .describe('How long call logs are kept.'),
        embeddings: z.boolean().default(false).describe('Write a call log for embeddings, too.'),
      })
      .prefault({})
      .describe('The call log: a line for each call, and never a prompt.'),
    revisions: z
      .strictObject({
        retention: duration({ minMs: 86_400_000, maxMs: 3_660 * 86_400_000 })
          .prefault('365d')
          .describe('For how long it is kept what stood at a revision, to be shown and rolled back to.'),
        keep: z
          .int()
          .min(100)
          .max(1_000_000)
          .default(100)
          .describe('So many revisions can always be gone back, however old they are.'),
      })
      .prefault({})
      .describe('The history of the configuration. Its entries stay for ever, what stood then for a time.'),
    health: z
      .strictObject({
        unhealthy_after: z
          .int()
          .min(1)
          .max(1_000)
          .default(3)
          .describe('Failures in a row that take an endpoint out.'),
        probe_min: duration()
          .prefault('5s')
          .describe('The first pause between probes of an unhealthy endpoint.'),
        probe_max: duration().prefault('2m').describe('The longest pause between them.'),
      })
      .prefault({})
      .describe('When an endpoint counts as unhealthy, and how it heals.'),
    on_disconnect: onDisconnect
      .default('abort')
      .describe(
        'When a client leaves: `abort` the upstream at once and charge an estimate, or `drain`: read on to charge the exact usage.',
      ),
    on_upstream_error: onUpstreamError
      .default('charge')
      .describe(
        'When an upstream breaks off in mid-stream: `charge` what the client received, or leave it `free`.',
      ),
    show_endpoints: z
      .boolean()
      .default(true)
      .describe(
        'Whether callers see names of endpoints, in `x-gw-endpoint` and in messages of errors. Logs and metrics have them in any case.',
      ),
    require_price: z
      .boolean()
      .default(false)
      .describe(
        'Reject calls of publications without a price in force (403), instead of serving them free and counted as unpriced.',
      ),
    output_cap: outputCap
      .default('none')
      .describe(
        'Adds this field to requests that name no limit of their own: what was reserved bounds the answer, and the reservation may shrink to what quota, budget and balance leave.',
      ),
    currency: z
      .string()
      .regex(/^[^\s\p{C}]{1,16}$/u, 'a label of 1 to 16 characters')
      .default('USD')
      .describe('A label for amounts of money; nothing is converted.'),
  })
  .meta({ id: 'settings', description: 'Settings that take effect without a restart.' })
