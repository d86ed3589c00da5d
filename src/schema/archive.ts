import { z } from 'zod'
import { FLAGS } from './ledger.ts'

/**
 * The lines of an archive of the ledger, JSON each, compressed with gzip: a header, an entry for each call, and an end.
 * Amounts are decimals of the currency; members without a value are left out.
 */
export const ARCHIVE_FORMAT = 'gw-ledger-archive'

export const archiveHeader = z.strictObject({
  format: z.literal(ARCHIVE_FORMAT),
  version: z.literal(1),
  /** All entries ended before this time. */
  before: z.iso.datetime({ precision: 3 }),
  /** The range of ids. Missing ones stay in the store: credits, debits and adjustments; in PostgreSQL also later calls. */
  first_id: z.int().positive(),
  last_id: z.int().positive(),
  currency: z.string(),
  /**
   * Entries have accounts, which outlive names: the name that each had at the time of the archive, where it differs. A name
   * with `~until-` is that of a deleted resource, whose name another one has.
   */
  names: z
    .partialRecord(z.enum(['key', 'tenant', 'model', 'endpoint']), z.record(z.string(), z.string()))
    .optional(),
  /** By the numbers that entries have as `price`. */
  prices: z.record(z.string(), z.record(z.string(), z.string())),
})
export type ArchiveHeader = z.infer<typeof archiveHeader>

const count = z.int().nonnegative()
const amount = z.string().regex(/^\d+(\.\d{1,9})?$/)

export const archivedEntry = z.strictObject({
  id: z.int().positive(),
  /** `release`: the call was not charged, for `reason`. */
  kind: z.enum(['settle', 'release']),
  /** When the call ended. */
  at: z.iso.datetime({ precision: 3 }),
  request_id: z.string(),
  attempt: z.int().positive(),
  key: z.string(),
  /** Absent for a platform key. */
  tenant: z.string().optional(),
  model: z.string(),
  endpoint: z.string(),
  amount,
  input_tokens: count.optional(),
  cached_input_tokens: count.optional(),
  cache_write_tokens: count.optional(),
  output_tokens: count.optional(),
  search_units: count.optional(),
  duration_ms: count.optional(),
  characters: count.optional(),
  images: count.optional(),
  flags: z.array(z.enum(FLAGS)).optional(),
  price: z.int().positive().optional(),
  reason: z.string().optional(),
  /** How long the hold was open, and what it reserved. */
  open_ms: z.int().optional(),
  held: amount.optional(),
  held_tokens: count.optional(),
})
export type ArchivedEntry = z.infer<typeof archivedEntry>

export const archiveEnd = z.strictObject({ entries: count })
export type ArchiveEnd = z.infer<typeof archiveEnd>
