import { GwError } from '../base/catalogue/wire.ts'
import type { Chance } from '../base/chance.ts'
import type { Protocol } from '../schema/endpoint.ts'
import type { PublicationEntry, Target } from '../snapshot/types.ts'

/** The path of each protocol that a client can be sent to, where it called the wrong one. */
const HOME_PATHS: Record<Protocol, string> = { openai: '/v1/chat/completions', anthropic: '/v1/messages' }

/**
 * Chooses the endpoint that serves a request: among the enabled ones of the path's protocol, the lowest tier, by
 * weight.
 *
 * @throws {GwError} wrong_protocol where no binding speaks the path's protocol; no_healthy_endpoint where none that
 * does is usable.
 */
export function pick(publication: PublicationEntry, protocol: Protocol, chance: Chance): Target {
  const bound = publication.targets[protocol]
  if (bound.length === 0) throw wrongProtocol(publication, protocol)
  const usable = bound.filter(target => target.endpoint.enabled && target.weight > 0)
  const [first] = usable
  if (!first)
    throw new GwError('no_healthy_endpoint', undefined, { reason: 'no binding is enabled with a weight' })
  const tier = usable.filter(target => target.priority === first.priority)
  return tier.length === 1 ? first : (weighted(tier, chance.fraction()) ?? first)
}

/** The target at `fraction` of the summed weights. */
function weighted(tier: readonly Target[], fraction: number): Target | undefined {
  let rest = fraction * tier.reduce((sum, target) => sum + target.weight, 0)
  return tier.find(target => {
    rest -= target.weight
    return rest < 0
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
