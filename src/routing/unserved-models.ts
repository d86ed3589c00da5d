import { healthReason } from '../base/catalogue/health.ts'
import { PROTOCOLS } from '../schema/endpoint.ts'
import type { PublicationEntry, Snapshot } from '../snapshot/types.ts'
import type { HealthRegistry } from './health-registry.ts'

/** As many are named; the rest is counted. */
const MOST_NAMED = 10

/**
 * The listed models that nobody can serve at the moment because every endpoint that could is unhealthy, each as
 * `code: sentence`. A model that is served on one protocol and not on the other is named with the other.
 */
export function unserved(snapshot: Snapshot, health: HealthRegistry): readonly string[] {
  if (!health.report().some(({ state }) => state === 'unhealthy')) return []
  const dead = [...snapshot.publications.values()]
    .filter(({ status }) => status === 'listed')
    .flatMap(publication =>
      PROTOCOLS.filter(protocol => isDead(publication, protocol, health)).map(protocol =>
        healthReason('no_healthy_endpoint', `no endpoint of ${publication.name} (${protocol}) is healthy`),
      ),
    )
  const named = dead.slice(0, MOST_NAMED)
  if (dead.length > named.length)
    named.push(healthReason('no_healthy_endpoint', `and ${dead.length - named.length} more`))
  return named
}

function isDead(
  { targets }: PublicationEntry,
  protocol: keyof PublicationEntry['targets'],
  health: HealthRegistry,
): boolean {
  const candidates = targets[protocol].filter(({ weight, endpoint }) => weight > 0 && endpoint.enabled)
  return candidates.length > 0 && candidates.every(({ endpoint }) => !health.of(endpoint).healthy)
}
