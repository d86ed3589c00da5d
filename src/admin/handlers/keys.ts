import {
  createKey,
  deleteKey,
  disableKey,
  enableKey,
  issueKey,
  listKeys,
  revokeKey,
  rotateKey,
  showKey,
  updateKey,
} from '../../services/keys.ts'
import type { HandlersOf } from '../call.ts'
import { canonicalOf, patchedSpec, versionedReply } from '../merge-patch.ts'

type Ids =
  | 'list_keys'
  | 'create_key'
  | 'get_key'
  | 'update_key'
  | 'delete_key'
  | 'issue_key'
  | 'rotate_key'
  | 'disable_key'
  | 'enable_key'
  | 'revoke_key'

export const keyHandlers: HandlersOf<Ids> = {
  async list_keys({ query: { expiring, unused, ...query }, context }) {
    const spans = {
      ...(expiring !== undefined && { expiringMs: expiring }),
      ...(unused !== undefined && { unusedMs: unused }),
    }
    return { body: await listKeys(context, { ...query, ...spans }) }
  },
  async create_key({ json: { name: _name, ...fields }, body: { name }, context }) {
    return versionedReply(await createKey(context, { name, spec: canonicalOf('key', fields) }))
  },
  async get_key({ params, context }) {
    return versionedReply(await showKey(context, params))
  },
  async update_key({ params, json, version, context }) {
    return versionedReply(await updateKey(context, { ...params, version }, patchedSpec('key', json)))
  },
  async delete_key({ params, version, context }) {
    return { body: await deleteKey(context, { ...params, version }) }
  },
  async issue_key({ params, context }) {
    return { body: await issueKey(context, params) }
  },
  async rotate_key({ params, body, context }) {
    return { body: await rotateKey(context, { ...params, graceMs: body.grace ?? 0 }) }
  },
  async disable_key({ params, context }) {
    return { body: await disableKey(context, params) }
  },
  async enable_key({ params, context }) {
    return { body: await enableKey(context, params) }
  },
  async revoke_key({ params, context }) {
    return { body: await revokeKey(context, params) }
  },
}
