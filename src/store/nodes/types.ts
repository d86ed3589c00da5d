/** What a node may be: its name and the labels of the token with which it joined. */
export interface NodeIdentity {
  readonly node: string
  /** The same for all credentials since its join. */
  readonly family: string
  readonly labels: Readonly<Record<string, string>>
}

export interface NewJoinToken {
  readonly id: string
  readonly digest: string
  /** A name, or a glob over names. */
  readonly pattern: string
  readonly labels: Readonly<Record<string, string>>
  readonly uses: number
  readonly expiresAtMs: number
  readonly author?: string
}

export interface StoredJoinToken extends Omit<NewJoinToken, 'digest' | 'uses'> {
  readonly usesLeft: number
  readonly createdAtMs: number
}

/** An engine as its node reports it. */
export interface ReportedEngine {
  readonly name: string
  readonly state: 'up' | 'down'
  /** Such as `vllm`; absent if unknown. */
  readonly kind?: string
  readonly models: readonly string[]
}

export interface NodeConnection {
  readonly node: string
  readonly address: string
  /** The version of gw on the node. */
  readonly version: string
  readonly connectedAtMs: number
  readonly engines: readonly ReportedEngine[]
}

export interface StoredNode extends Omit<NodeIdentity, 'family'> {
  readonly joinedAtMs: number
  /** Since when an administrator lets its calls end, and gives it no new ones. */
  readonly drainingSinceMs?: number
  /** Absent: it is not connected. */
  readonly connection?: NodeConnection
}

/** The nodes of a store, for administrators. */
export interface NodeStore {
  createJoinToken(token: NewJoinToken): Promise<StoredJoinToken>
  /** Valid ones, by id. */
  joinTokens(): Promise<readonly StoredJoinToken[]>
  /** @returns false if there is none */
  revokeJoinToken(id: string): Promise<boolean>
  /** Nodes that have joined, by name. */
  all(): Promise<readonly StoredNode[]>
  /** Ends the credential of a node. @returns false if it has none */
  revoke(node: string): Promise<boolean>
  /** Gives a node no new calls. @returns false if it was so already */
  drain(node: string): Promise<boolean>
  /** @returns false if it was not draining */
  uncordon(node: string): Promise<boolean>
}

export type JoinRejection = 'unknown_token' | 'expired_token' | 'used_token' | 'other_name' | 'joined_already'

/** The present state of a node that a gateway must follow. */
export interface NodeState extends Omit<NodeIdentity, 'labels'> {
  /** When its credential was issued. */
  readonly issuedAtMs: number
  readonly isDraining: boolean
}

/** A line of the audit log. */
export interface NodeAudit {
  readonly action: 'join_node' | 'leave_node' | 'reject_node' | 'revoke_node'
  /** The node, if it has shown that it is; else `unknown`. */
  readonly user: string
  /** The name that it gives. */
  readonly node: string
  readonly address: string
  /** Of a rejection, or of a revocation that no administrator has asked for. */
  readonly reason?: string
}

/** A credential that was replaced has been used again. */
export interface ReusedCredential {
  readonly reusedOf: string
}

/** The nodes of a store, for a serving gateway. */
export interface ServingNodes {
  /** The token of a digest for a node of this name. */
  checkToken(digest: string, node: string): Promise<{ readonly id: string } | JoinRejection>
  /** Uses a token once, and replaces the credential of the node. One transaction. */
  join(tokenDigest: string, node: string, credentialDigest: string): Promise<NodeIdentity | JoinRejection>
  /** Ends the credentials of a node. */
  leave(identity: NodeIdentity): Promise<void>
  /**
   * The node of a credential. The first use of a new credential retires the one before.
   *
   * A retired one belongs to a thief, or its successor does: both are revoked, in the same transaction. Not within a minute: a
   * dial of the node itself may have crossed the replacement.
   */
  identity(
    credentialDigest: string,
  ): Promise<NodeIdentity | ReusedCredential | 'replaced_just_now' | undefined>
  /**
   * Adds the next credential of a node; it has two until {@link retire}, or until it uses the new one.
   *
   * @returns false if another gateway has added one within the last hour
   */
  addCredential(identity: NodeIdentity, digest: string): Promise<boolean>
  /** The node has stored its next credential, the one of `digest`: the one before ends. */
  retire(identity: NodeIdentity, digest: string): Promise<void>
  /** Every node with a credential. */
  states(): Promise<readonly NodeState[]>
  /** Records what is connected to a gateway, and what is no more. One transaction. */
  reportConnections(
    gateway: string,
    connected: readonly NodeConnection[],
    gone: readonly string[],
  ): Promise<void>
  audit(line: NodeAudit): Promise<void>
}
