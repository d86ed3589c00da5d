import type { StoredGateway } from '../store/types.ts'
import type { Context } from './context.ts'

/** How soon others see a change. A check without a change costs nothing. */
export const CHECK_MS = 500
/** The heartbeat interval without a change: it separates a killed gateway from an idle one. */
export const BEAT_MS = 5_000
/** Three missed beats. */
const GONE_AFTER_MS = 3 * BEAT_MS + CHECK_MS

/** Whether a gateway has reported lately. One that has not was killed, or hangs. */
export function isAlive({ seenAtMs }: Pick<StoredGateway, 'seenAtMs'>, nowMs: number): boolean {
  return nowMs - seenAtMs <= GONE_AFTER_MS
}

/** The address of a gateway that serves the store; undefined without one. */
export async function servingUrl({
  store,
  clock,
}: Pick<Context, 'store' | 'clock'>): Promise<string | undefined> {
  const gateways = await store.gateways()
  return gateways.find(gateway => gateway.url !== undefined && isAlive(gateway, clock.nowMs()))?.url
}
