import type { Live, StoredSecret } from '../../store/types.ts'

/** The secrets valid at `live.atMs`, oldest first, by key name. */
export function activeSecrets(live: Live): Map<string, StoredSecret[]> {
  const byKey = new Map<string, StoredSecret[]>()
  for (const secret of live.secrets) {
    const { key, revokedAtMs, expiresAtMs } = secret
    if (revokedAtMs !== undefined || (expiresAtMs !== undefined && expiresAtMs <= live.atMs)) continue
    const secrets = byKey.get(key)
    if (secrets) secrets.push(secret)
    else byKey.set(key, [secret])
  }
  return byKey
}
