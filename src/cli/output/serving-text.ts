import type { Serving } from '../../server/serving.ts'
import type { Output } from './output.ts'

/** Says where a process serves, and what. */
export function announce(
  out: Output,
  {
    gatewayUrl,
    nodesUrl,
    controlUrl,
    revision,
  }: Omit<Serving, 'failed' | 'reload' | 'beginDrain' | 'fileReasons' | 'close' | 'isExporting'>,
): void {
  if (gatewayUrl) out.info(`Gateway on ${gatewayUrl}`)
  if (nodesUrl) out.info(`Nodes dial in at ${nodesUrl}`)
  if (controlUrl) out.info(`Control plane on ${controlUrl}`)
  out.info(`Serving revision ${revision}.`)
}
