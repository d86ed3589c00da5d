import { iso } from '../../base/iso.ts'
import { viewKeys } from '../../services/changes/key-view.ts'
import { issueKey, resumeKey, rotateKey, suspendKey } from '../../services/changes/keys.ts'
import { revokeKey } from '../../services/changes/keys-lifetime.ts'
import type { IssuedSecret, KeyView } from '../../services/changes/types.ts'
import type { Live, StoredResource } from '../../store/types.ts'
import type { HandlersOf } from '../call.ts'
import { pageOf } from '../paging.ts'
import type { UseCasePorts } from '../ports.ts'
import { changedReply, create, find, remove, shown, shownReply, update } from '../resources.ts'

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

export function keyHandlers(ports: UseCasePorts): HandlersOf<Ids> {
  const { random } = ports
  const readKey = async (name: string) => {
    const { resource, live } = await find(ports, 'key', name)
    return { resource, body: showKeys(live)[0] ?? fail(name) }
  }
  return {
    async list_keys({ query: { tenant: wanted, ...page }, caller }) {
      const tenant = caller.tenant ?? wanted
      // Another tenant's keys do not exist for this caller.
      if (wanted !== undefined && wanted !== tenant) return { body: { data: [], next_cursor: null } }
      const read = async (limit: number, after: string | undefined) => {
        const where = tenant === undefined ? {} : { where: { tenant } }
        return showKeys(
          await ports.store.find({ kind: 'key', limit, ...where, ...(after !== undefined && { after }) }),
        )
      }
      return {
        body: await pageOf(
          page,
          read,
          key => key.name,
          key => key,
        ),
      }
    },
    async create_key(call) {
      const made = await create(ports, 'key', call.body.name, call)
      return changedReply(made, (await readKey(made.name)).body)
    },
    async get_key({ params }) {
      const { resource, body } = await readKey(params.name)
      return shownReply(resource, body)
    },
    async update_key(call) {
      const key = await update(ports, 'key', call.params.name, call)
      return changedReply(key, (await readKey(key.name)).body)
    },
    delete_key: call => remove(ports, 'key', call.params.name, call),

    async issue_key({ params, store }) {
      return { body: issuedBody(await issueKey(store, random, params.name)) }
    },
    async rotate_key({ params, body, store }) {
      return { body: issuedBody(await rotateKey(store, random, params.name, body.grace ?? 0)) }
    },
    async disable_key({ params, store, markUnchanged }) {
      const changed = await suspendKey(store, params.name)
      if (!changed) markUnchanged()
      return { body: { key: params.name, state: 'disabled', changed } }
    },
    async enable_key({ params, store, markUnchanged }) {
      const changed = await resumeKey(store, params.name)
      if (!changed) markUnchanged()
      return { body: { key: params.name, state: 'enabled', changed } }
    },
    async revoke_key({ params, store, markUnchanged }) {
      const revoked = await revokeKey(store, params.name)
      if (revoked.secrets === 0 && !revoked.held) markUnchanged()
      return { body: { key: params.name, ...revoked } }
    },
  }
}

/** Keys in the format of answers: the policy as in a file, and the state of the secret. */
function showKeys(live: Live) {
  const views = new Map(viewKeys(live).map(view => [view.name, view]))
  return live.resources.map(resource => showKey(resource, views.get(resource.name) ?? fail(resource.name)))
}

function showKey(resource: StoredResource, view: KeyView) {
  const { hash: _hash, ...spec } = resource.spec
  return {
    ...shown({ ...resource, spec }),
    state: view.state,
    ...(view.suspendedAtMs !== undefined && { suspended_at: iso(view.suspendedAtMs) }),
    secret: {
      ...(view.secretSource && { source: view.secretSource }),
      ...(view.secretCreatedAtMs !== undefined && { created_at: iso(view.secretCreatedAtMs) }),
      active: view.activeSecrets,
    },
  }
}

function issuedBody({ key, secret, graceUntilMs }: IssuedSecret) {
  return { key, secret, ...(graceUntilMs !== undefined && { grace_until: iso(graceUntilMs) }) }
}

function fail(name: string): never {
  throw new Error(`the key ${name} is missing from its own view`)
}
