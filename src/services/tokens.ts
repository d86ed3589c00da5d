import { newToken } from '../base/access-token.ts'
import { keyDigest } from '../base/api-key.ts'
import { CommandError } from '../base/catalogue/command.ts'
import { MAX_TOKEN_MS, type TokenScope, tokenName } from '../schema/token.ts'
import type { StoredToken } from '../store/users/types.ts'
import { record } from './audit.ts'
import type { AppPorts } from './context.ts'
import { withStore } from './stored.ts'

type TokenPorts = Pick<AppPorts, 'clock' | 'cwd' | 'random' | 'environment' | 'signal'>

/** A personal access token to create. */
export interface WantedToken {
  readonly name: string
  /** The owner of the token. */
  readonly user: string
  readonly scope: TokenScope
  /** For an administrator: binds the token to one tenant. */
  readonly tenant?: string
  readonly spanMs: number
}

/**
 * Creates a token for a user, on the machine of the store.
 * @throws {CommandError} store_…, not_found if the user or tenant does not exist, already_exists if the name is taken, usage
 */
export async function createToken(
  { spanMs, ...wanted }: WantedToken,
  storeUrl: string,
  ports: TokenPorts,
): Promise<{ readonly token: string; readonly stored: StoredToken }> {
  const [issue] = tokenName.safeParse(wanted.name).error?.issues ?? []
  if (issue) throw new CommandError('usage', `A token’s name has ${issue.message}.`)
  if (spanMs < 60_000 || spanMs > MAX_TOKEN_MS)
    throw new CommandError('usage', 'A token must be valid for 1 minute to 366 days.')
  ports.signal.throwIfAborted()
  return withStore(storeUrl, 'write', ports, async store => {
    const { id, token } = newToken(ports.random)
    const expiresAtMs = ports.clock.nowMs() + spanMs
    const stored = await store.users.createToken({ ...wanted, id, digest: keyDigest(token), expiresAtMs })
    await record(store, { action: 'create_token', target: `token/${id}` }, ports)
    return { token, stored }
  })
}

/** @throws {CommandError} store_… */
export async function listTokens(
  user: string | undefined,
  storeUrl: string,
  ports: TokenPorts,
): Promise<readonly StoredToken[]> {
  return withStore(storeUrl, 'read', ports, store =>
    store.users.tokens({ limit: Number.MAX_SAFE_INTEGER, ...(user !== undefined && { user }) }),
  )
}

/** @throws {CommandError} store_…, not_found */
export async function revokeToken(id: string, storeUrl: string, ports: TokenPorts): Promise<void> {
  ports.signal.throwIfAborted()
  await withStore(storeUrl, 'write', ports, async store => {
    if (!(await store.users.revokeToken(id))) {
      throw new CommandError('not_found', `There is no token ${id}.`, { hint: '`gw tokens list` shows all.' })
    }
    await record(store, { action: 'revoke_token', target: `token/${id}` }, ports)
  })
}
