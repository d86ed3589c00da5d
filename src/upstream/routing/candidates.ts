import { GwError } from '../../base/catalogue/wire.ts'
import type { Clock } from '../../base/clock.ts'
import type { InferencePath } from '../../schema/paths.ts'
import { servedPaths, targetsAt } from '../../snapshot/served-paths.ts'
import type { EndpointEntry, PublicationEntry, Target } from '../../snapshot/types.ts'
import type { UpstreamFailure } from '../classify.ts'
import type { NodeDirectory, NodeObstacle, NodeTargets } from '../nodes.ts'
import type { EndpointHealth, Obstacle } from './endpoint-state.ts'
import type { HealthRegistry } from './health-registry.ts'

const FULL_RETRY_AFTER_MS = 1_000

interface CandidatePorts {
  readonly health: HealthRegistry
  readonly clock: Clock
  readonly nodes: NodeTargets
}

/**
 * The endpoints that serve a path, by tier; those on nodes once for each connected node.
 *
 * @throws {GwError} wrong_protocol if the publication has none
 */
export function boundTo(
  publication: PublicationEntry,
  path: InferencePath,
  nodes: NodeTargets,
): readonly Target[] {
  const bound = targetsAt(publication, path)
  if (bound.length === 0) throw wrongPath(publication, path)
  return nodes.expand(bound)
}

/** Why a target is currently unusable; `unweighted`: its binding takes no new traffic. Undefined: it is usable. */
export function obstacleOf(
  target: Target,
  { health, clock, nodes }: CandidatePorts,
  isLastResort = false,
): Obstacle | 'unweighted' | undefined {
  if (target.weight === 0) return 'unweighted'
  const { endpoint } = target
  const ofNode = endpoint.enabled && endpoint.nodes && nodeObstacle(endpoint, nodes.nodes)
  // A busy engine is slow, not unusable.
  if (ofNode && !(isLastResort && ofNode === 'busy')) return ofNode
  return health.of(endpoint).obstacle(endpoint, clock.monotonicMs(), isLastResort)
}

function nodeObstacle(
  { node, nodes: choice }: EndpointEntry,
  nodes: NodeDirectory,
): NodeObstacle | undefined {
  return node === undefined || !choice ? 'no_node' : nodes.obstacle(node, choice.engine)
}

/** The target with fewer requests in flight for its weight; of equals the first. */
export function leastLoaded(
  one: Target,
  other: Target,
  ports: Pick<CandidatePorts, 'health' | 'nodes'>,
): Target {
  return loadOf(other, ports) < loadOf(one, ports) ? other : one
}

/** Requests that wait in an engine may come from other gateways. */
function loadOf(
  { endpoint, weight }: Target,
  { health, nodes }: Pick<CandidatePorts, 'health' | 'nodes'>,
): number {
  const { node, nodes: choice } = endpoint
  const waiting = node !== undefined && choice ? nodes.nodes.waiting(node, choice.engine) : 0
  return (health.of(endpoint).inFlight + waiting) / weight
}

/** An endpoint of a publication in its current state. */
export interface Candidate {
  readonly target: Target
  readonly health: EndpointHealth
  readonly obstacle?: Obstacle | 'unweighted'
  /** Probability that the next request goes there first, from 0 to 1. */
  readonly share: number
}

/** The current state of every bound endpoint. Chooses, enters and counts nothing. */
export function inspect(bound: readonly Target[], ports: CandidatePorts): readonly Candidate[] {
  const obstaclesOf = (isLastResort: boolean) =>
    bound.map(target => ({ target, obstacle: obstacleOf(target, ports, isLastResort) }))
  let states = obstaclesOf(false)
  if (states.every(({ obstacle }) => obstacle !== undefined)) states = obstaclesOf(true)
  const [first] = states.filter(({ obstacle }) => obstacle === undefined)
  const tier = states.flatMap(({ target, obstacle }) =>
    obstacle === undefined && target.priority === first?.target.priority ? target : [],
  )
  const shares = sharesOf(tier, ports)
  return states.map(({ target, obstacle }) => ({
    target,
    health: ports.health.of(target.endpoint).report(),
    ...(obstacle && { obstacle }),
    share: shares.get(target) ?? 0,
  }))
}

/**
 * `Route` draws two targets by weight, possibly the same twice. A target wins against all with at least its load if it is drawn
 * first, and against those with more if it is drawn second.
 */
function sharesOf(tier: readonly Target[], ports: CandidatePorts): ReadonlyMap<Target, number> {
  const loaded = tier.map(target => ({ target, load: loadOf(target, ports) })).sort((a, b) => b.load - a.load)
  const sum = tier.reduce((weights, { weight }) => weights + weight, 0)
  const shares = new Map<Target, number>()
  /** Weights of the targets with more load. */
  let above = 0
  for (let from = 0; from < loaded.length; ) {
    const equal = loaded.slice(from).filter(({ load }) => load === loaded[from]?.load)
    const weight = equal.reduce((weights, { target }) => weights + target.weight, 0)
    for (const { target } of equal)
      shares.set(target, (target.weight * (above + weight + above)) / (sum * sum))
    above += weight
    from += equal.length
  }
  return shares
}

/** The error when no endpoint is usable: cooling down, full, or unhealthy. */
export function noEndpointError(bound: readonly Target[], ports: CandidatePorts): GwError {
  const { health, clock } = ports
  const nowMs = clock.monotonicMs()
  const weighted = bound.filter(({ weight }) => weight > 0)
  const obstacles: { readonly name: string; readonly obstacle: Obstacle }[] = []
  let soonest: { failure: UpstreamFailure; forMs: number } | undefined
  for (const target of weighted) {
    const state = health.of(target.endpoint)
    const obstacle = obstacleOf(target, ports, true)
    if (obstacle && obstacle !== 'unweighted') obstacles.push({ name: nameOf(target.endpoint), obstacle })
    const cooldown = obstacle === 'cooling_down' ? state.cooldown(nowMs) : undefined
    if (cooldown && (!soonest || cooldown.forMs < soonest.forMs)) soonest = cooldown
  }
  const reason =
    weighted.length === 0
      ? 'no binding has a weight'
      : obstacles.map(({ name, obstacle }) => `${name} ${STATES[obstacle] ?? `is ${obstacle}`}`).join(', ')
  if (soonest) {
    const { failure, forMs } = soonest
    return new GwError(failure.code, failure.message, { reason, retryAfterMs: forMs })
  }
  if (!obstacles.some(({ obstacle }) => obstacle === 'full'))
    return new GwError('no_healthy_endpoint', undefined, { reason })
  return new GwError('no_healthy_endpoint', 'Every endpoint of this model has as many requests as it may.', {
    reason,
    retryAfterMs: FULL_RETRY_AFTER_MS,
  })
}

const STATES: Partial<Record<Obstacle, string>> = {
  cooling_down: 'is cooling down',
  no_node: 'has no connected node',
  engine_down: 'does not answer on its node',
}

function nameOf({ name, node }: EndpointEntry): string {
  return node === undefined ? name : `${name} on ${node}`
}

function wrongPath(publication: PublicationEntry, path: InferencePath): GwError {
  const paths = pathsInstead(publication, path)
  const message =
    paths.length > 0
      ? `The model \`${publication.name}\` is served at ${new Intl.ListFormat('en-GB').format(paths)}, not at this path.`
      : `The model \`${publication.name}\` is not served at this path.`
  return new GwError('wrong_protocol', message)
}

/**
 * The paths to name instead of one at which a publication is not served: those of the same protocol; otherwise those of
 * the other one, only the first if no endpoint restricts them.
 */
export function pathsInstead(publication: PublicationEntry, { protocol }: InferencePath): readonly string[] {
  const served = servedPaths(publication)
  const same = served.filter(each => each.protocol === protocol)
  const other = publication.restricted ? served : served.slice(0, 1)
  return (same.length > 0 ? same : other).map(({ path }) => path)
}
