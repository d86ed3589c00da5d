import type { Clock } from '../base/clock.ts'
import type { PasswordHasher } from '../base/password.ts'
import type { Random } from '../base/random.ts'
import type { RecentUse } from '../changes/blast/use.ts'
import type { RolledBack } from '../changes/rollback.ts'
import type { Applied, Check, ProbeOrder } from '../changes/types.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf, BodyOf } from '../schema/api/types.ts'
import type { CALL_PATHS } from '../schema/api/why.ts'
import type { StoredCredential } from '../schema/stored-credential.ts'
import type { Store, StoreReads } from '../store/types.ts'
import type { Authority } from '../store/users/types.ts'

/** What became of a minimal chat. */
export type ProbeVerdict =
  | { readonly ok: true; readonly latencyMs?: number }
  | { readonly ok: false; readonly latencyMs?: number; readonly cause: string; readonly hint: string }

/** Whether inference is rejected, and by whose word. */
export type MaintenanceShown = AnswerOf<OperationOf<'get_maintenance'>>

export interface EndpointHealthShown {
  readonly state: 'unknown' | 'healthy' | 'unhealthy'
  /** RFC 3339. */
  readonly since: string
  /** Why it is unhealthy. */
  readonly reason?: string
}

/** About whom a decision is asked: by name or by secret, of a model or of all. */
export interface Asked {
  readonly key?: string | undefined
  readonly secret?: string | undefined
  readonly model?: string | undefined
  readonly path?: (typeof CALL_PATHS)[number] | undefined
  readonly inputTokens?: number | undefined
  readonly maxTokens?: number | undefined
}

/** What was applied, and as which set. */
export interface AppliedSet extends Applied {
  readonly set: string
}

/** Who makes a change, and by what right. */
export interface ChangeAuthor {
  readonly author: string
  readonly authority: Authority
}

/**
 * What is done with whole configurations. All of it goes over thousands of resources at once, and a transaction cannot
 * rest: whoever shares an event loop with others has this done elsewhere. Arguments and answers are plain data.
 */
export interface Configurations {
  /** @throws {ApiError} configuration_invalid, with every problem. */
  validate(yaml: string): Promise<AnswerOf<OperationOf<'validate_config'>>>
  /** @throws {ApiError} configuration_invalid, reference_rejected; {@link CommandError} as `plan` of changes throws. */
  plan(yaml: string): Promise<AnswerOf<OperationOf<'plan_config'>>>
  /** @throws what `plan` throws; {ApiError} too_many_deletes; {ProbeError} GW5001; and as `apply` of changes throws. */
  apply(body: BodyOf<OperationOf<'apply_config'>>, by: ChangeAuthor): Promise<AppliedSet>
  /** @throws as `rollBack` of changes throws. */
  rollBack(revision: number, by: ChangeAuthor): Promise<RolledBack>
}

/** What the control plane needs of the process around it. */
export interface UseCasePorts {
  /** To read from; what changes something does it on the store of its call. */
  readonly store: StoreReads
  readonly clock: Clock
  readonly random: Random
  readonly hasher: PasswordHasher
  readonly configurations: Configurations
  /** Whether a gateway could serve what would stand. */
  readonly check: Check
  /** What was used lately, for what a plan means to those who call. */
  readonly recentUse: RecentUse
  /**
   * Asks an endpoint for a chat with each of its models, until one fails. Rejects only where the store fails.
   * @param credential that was given just now, where the endpoint says that one is kept.
   */
  readonly probe: (order: ProbeOrder, credential?: string) => Promise<ProbeVerdict>
  /** Seals a secret for one use. @throws {CommandError} GW2008 */
  readonly keep: (secret: string, boundTo: string) => Promise<StoredCredential>
  /** This and the two that follow are known to the gateway, which may be in another thread. */
  readonly status: () => Promise<Omit<AnswerOf<OperationOf<'get_status'>>, 'store_revision'>>
  /** How endpoints fare, by name; empty where this process sends no traffic. */
  readonly endpointHealth: () => Promise<ReadonlyMap<string, EndpointHealthShown>>
  /** The label of amounts of money. */
  readonly currency: () => Promise<string>
  /**
   * What would be served to whom, and why not; nothing is counted or held.
   * @throws {CommandError} GW4005 where there is no key of that name.
   */
  readonly explain: (question: Asked) => Promise<AnswerOf<OperationOf<'explain'>>>
  readonly maintenance: {
    show(): Promise<MaintenanceShown>
    /**
     * @param store of the caller.
     * @throws {CommandError} GW4014 where the settings keep it on.
     */
    set(
      wanted: { readonly enabled: boolean; readonly message?: string; readonly author: string },
      store: Store,
    ): Promise<MaintenanceShown & { readonly changed: boolean }>
  }
}
