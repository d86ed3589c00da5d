import type { Command } from 'commander'
import type { UsageFilters } from '../store/ledger/types.ts'

/** The filter flags of traffic, as parsed by commander. */
export interface TrafficOptions {
  readonly key?: string
  readonly tenant?: string
  readonly model?: string
  readonly endpoint?: string
}

/** Adds the flags of {@link TrafficOptions}. */
export function withTrafficFilters(command: Command): Command {
  return command
    .option('--key <name>', 'only calls of this key')
    .option('--tenant <name>', 'only calls of this tenant')
    .option('--model <name>', 'only calls of this publication')
    .option('--endpoint <name>', 'only calls that this endpoint served')
}

export function trafficFilters({ key, tenant, model, endpoint }: TrafficOptions): UsageFilters {
  return {
    ...(key !== undefined && { key }),
    ...(tenant !== undefined && { tenant }),
    ...(model !== undefined && { publication: model }),
    ...(endpoint !== undefined && { endpoint }),
  }
}
