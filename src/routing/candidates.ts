import { GwError } from '../base/catalogue/wire.ts'
import type { Clock } from '../base/clock.ts'
import type { UpstreamFailure } from '../relay/classify.ts'
import type { Protocol } from '../schema/endpoint.ts'
import type { PublicationEntry, Target } from '../snapshot/types.ts'
import type { EndpointHealth, Obstacle } from './endpoint-state.ts'
import type { HealthRegistry } from './health-registry.ts'

/** The path of each protocol that a client can be sent to, where it called the wrong one. */
const HOME_PATHS: Record<Protocol, string> = { openai: '/v1/chat/completions', anthropic: '/v1/messages' }

const FULL_RETRY_AFTER_MS = 1_000

interface CandidatePorts {
  readonly health: HealthRegistry
  readonly clock: Clock
}

/** The endpoints that speak a path's protocol, by tier. @throws {GwError} wrong_protocol where there is none */
export function boundTo(publication: PublicationEntry, protocol: Protocol): readonly Target[] {
  const bound = publication.targets[protocol]
  if (bound.length === 0) throw wrongProtocol(publication, protocol)
  return bound
}

/** Why nothing goes there at the moment; `unweighted`: its binding takes no new traffic. Undefined: it is usable. */
export function obstacleOf(
  target: Target,
  { health, clock }: CandidatePorts,
  isLastResort = false,
): Obstacle | 'unweighted' | undefined {
  if (target.weight === 0) return 'unweighted'
  return health.of(target.endpoint).obstacle(target.endpoint, clock.monotonicMs(), isLastResort)
}

/** Of two that were drawn the one with less to do for its weight; of equals the first. */
export function leastLoaded(one: Target, other: Target, health: HealthRegistry): Target {
  return loadOf(other, health) < loadOf(one, health) ? other : one
}

function loadOf({ endpoint, weight }: Target, health: HealthRegistry): number {
  return health.of(endpoint).inFlight / weight
}

/** An endpoint of a publication, as the next request would find it. */
export interface Candidate {
  readonly target: Target
  readonly health: EndpointHealth
  readonly obstacle?: Obstacle | 'unweighted'
  /** How likely the next request begins there, from 0 to 1. */
  readonly share: number
}

/** Every endpoint that is bound, as the next request would find it. Nothing is chosen, entered or counted. */
export function inspect(bound: readonly Target[], ports: CandidatePorts): readonly Candidate[] {
  const look = (isLastResort: boolean) =>
    bound.map(target => ({ target, obstacle: obstacleOf(target, ports, isLastResort) }))
  let met = look(false)
  if (met.every(({ obstacle }) => obstacle !== undefined)) met = look(true)
  const [first] = met.filter(({ obstacle }) => obstacle === undefined)
  const tier = met.flatMap(({ target, obstacle }) =>
    obstacle === undefined && target.priority === first?.target.priority ? target : [],
  )
  return met.map(({ target, obstacle }) => ({
    target,
    health: ports.health.of(target.endpoint).report(),
    ...(obstacle && { obstacle }),
    share: tier.includes(target) ? shareOf(target, tier, ports.health) : 0,
  }))
}

/** Two are drawn by weight, perhaps the same twice: every pair counts as often as it comes. */
function shareOf(target: Target, tier: readonly Target[], health: HealthRegistry): number {
  const sum = tier.reduce((weights, { weight }) => weights + weight, 0)
  let pairs = 0
  for (const one of tier) {
    for (const other of tier) {
      if (leastLoaded(one, other, health) === target) pairs += one.weight * other.weight
    }
  }
  return pairs / (sum * sum)
}

/** Why nobody can serve, in the words of what would help: waiting for a rest, for room, or for a hint. */
export function noEndpointError(bound: readonly Target[], { health, clock }: CandidatePorts): GwError {
  const nowMs = clock.monotonicMs()
  const weighted = bound.filter(({ weight }) => weight > 0)
  const met: { readonly name: string; readonly obstacle: Obstacle }[] = []
  let soonest: { failure: UpstreamFailure; forMs: number } | undefined
  for (const target of weighted) {
    const state = health.of(target.endpoint)
    const obstacle = state.obstacle(target.endpoint, nowMs, true)
    if (obstacle) met.push({ name: target.endpoint.name, obstacle })
    const rest = obstacle === 'resting' ? state.cooldown(nowMs) : undefined
    if (rest && (!soonest || rest.forMs < soonest.forMs)) soonest = rest
  }
  const reason =
    weighted.length === 0
      ? 'no binding has a weight'
      : met.map(({ name, obstacle }) => `${name} is ${obstacle}`).join(', ')
  if (soonest) {
    const { failure, forMs } = soonest
    return new GwError(failure.code, failure.message, { reason, retryAfterMs: forMs })
  }
  if (!met.some(({ obstacle }) => obstacle === 'full'))
    return new GwError('no_healthy_endpoint', undefined, { reason })
  return new GwError('no_healthy_endpoint', 'Every endpoint of this model has as many requests as it may.', {
    reason,
    retryAfterMs: FULL_RETRY_AFTER_MS,
  })
}

function wrongProtocol(publication: PublicationEntry, protocol: Protocol): GwError {
  const other: Protocol = protocol === 'openai' ? 'anthropic' : 'openai'
  const message =
    publication.targets[other].length > 0
      ? `The model \`${publication.name}\` is served at ${HOME_PATHS[other]}, not at this path.`
      : `The model \`${publication.name}\` is not served at this path.`
  return new GwError('wrong_protocol', message)
}
