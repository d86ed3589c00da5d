import { healthReason } from '../../base/catalogue/health.ts'
import { PROTOCOLS } from '../../schema/endpoint.ts'
import type { PublicationEntry, Snapshot } from '../../snapshot/types.ts'
import type { HealthRegistry } from './health-registry.ts'

/** Limit of named models; the others are counted. */
const MAX_NAMED = 10

/**
 * The listed models whose endpoints are all unhealthy, each as `code: sentence`. A model that is available on one
 * protocol only is listed with the other.
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
  const named = dead.slice(0, MAX_NAMED)
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
