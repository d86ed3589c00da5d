import type { Shapes } from '../api/client.ts'
import { count, NONE, percent, pluralized } from './format.ts'

type Node = Shapes['node_shown']
export type EngineOfNode = NonNullable<Node['engines']>[number]

/** How many nodes an endpoint chooses. */
export function matchText(matched: Shapes['endpoint_shown']['matched_nodes']): string {
  const { joined = 0, connected = 0 } = matched ?? {}
  return `${pluralized(joined, 'node')}${joined === 0 ? '' : `, ${connected === joined ? 'all' : count(connected)} connected`}`
}

/** Requests in flight of all endpoints on a node. */
export function inFlightOf({ endpoints }: Node): number {
  return endpoints.reduce((sum, { in_flight: inFlight = 0 }) => sum + inFlight, 0)
}

/** What the engines of a node have to do, by their own figures. */
export function loadOf({ engines = [] }: Node): string {
  const loads = engines.flatMap(({ load }) => load ?? [])
  if (loads.length === 0) return NONE
  const running = loads.reduce((sum, load) => sum + load.running, 0)
  const waiting = loads.reduce((sum, load) => sum + load.waiting, 0)
  const caches = loads.flatMap(({ cache }) => cache ?? [])
  const cache = caches.length === 0 ? '' : `, cache ${percent(Math.max(...caches))}`
  return `${count(running)} running, ${count(waiting)} waiting${cache}`
}
