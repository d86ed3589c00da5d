import type { Clock } from '../base/clock.ts'
import type { PasswordHasher } from '../base/password.ts'
import type { Random } from '../base/random.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf, BodyOf } from '../schema/api/types.ts'
import type { Check } from '../services/changes/types.ts'
import type { Actor } from '../services/context.ts'
import type { EndpointContext } from '../services/endpoints.ts'
import type { GatewaySources } from '../services/live-stats/monitor.ts'
import type { NodeActivity } from '../services/nodes.ts'
import type { ExplainHere } from '../services/why/ask.ts'
import type { Authority } from '../store/users/types.ts'

/** The author of a change and its rights. */
export interface ChangeAuthor {
  readonly actor: Actor
  readonly authority: Authority
}

/**
 * Operations on whole configurations. They process thousands of resources in one synchronous transaction, so a server
 * runs them in another thread. Arguments and answers are plain data.
 */
export interface Configurations {
  /** @throws {ConfigurationInvalid} */
  validate(yaml: string): Promise<AnswerOf<OperationOf<'validate_config'>>>
  /** @throws {ConfigurationInvalid}, {ApiError} reference_rejected; {@link CommandError} as `plan` of changes throws. */
  plan(yaml: string): Promise<AnswerOf<OperationOf<'plan_config'>>>
  /** @throws {ApiError} invalid_request, not_found; {CommandError} still_referenced */
  preview(body: BodyOf<OperationOf<'preview_change'>>): Promise<AnswerOf<OperationOf<'preview_change'>>>
  /** @throws what `plan` throws; {CommandError} too_many_deletes; {ProbeError}; and as `apply` of changes throws. */
  apply(
    body: BodyOf<OperationOf<'apply_config'>>,
    by: ChangeAuthor,
  ): Promise<AnswerOf<OperationOf<'apply_config'>>>
  /** @throws as `rollBack` of changes throws. */
  rollBack(
    body: BodyOf<OperationOf<'roll_back'>>,
    by: ChangeAuthor,
  ): Promise<AnswerOf<OperationOf<'roll_back'>>>
}

/** The ports of the control plane's use cases. */
export interface UseCasePorts {
  readonly clock: Clock
  readonly random: Random
  readonly hasher: PasswordHasher
  readonly configurations: Configurations
  /** Whether a gateway could serve the changed resources. */
  readonly check: Check
  readonly probe: EndpointContext['probe']
  readonly sealCredential: EndpointContext['sealCredential']
  readonly gateways: GatewaySources
  /** Answered by the gateway, which may be in another thread; so are the next two. */
  readonly endpointHealth: EndpointContext['endpointHealth']
  readonly nodeActivity: () => Promise<NodeActivity>
  readonly explainHere: ExplainHere
  /** Aborted when the control plane has ended. */
  readonly signal: AbortSignal
}
