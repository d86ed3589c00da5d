import type { Fields } from './answer.ts'

/** The models of the list. The other routes accept any name. */
const MODELS = {
  'demo-chat': 'Demo chat',
  'demo-messages': 'Demo messages',
  'demo-embedding': 'Demo embedding',
  'demo-rerank': 'Demo rerank',
}
const CREATED_MS = Date.UTC(2026, 0, 1)

/** `GET /v1/models`: entries that both vendors' SDKs can read. */
export function listModels(): Fields {
  const data = Object.entries(MODELS).map(([id, name]) => entry(id, name))
  return { object: 'list', data, has_more: false, first_id: data.at(0)?.id, last_id: data.at(-1)?.id }
}

/** `GET /v1/models/{id}`; undefined for an unknown name. */
export function findModel(id: string): Fields | undefined {
  const name = Object.entries(MODELS).find(([known]) => known === id)?.[1]
  return name === undefined ? undefined : entry(id, name)
}

function entry(id: string, displayName: string) {
  return {
    id,
    object: 'model',
    created: CREATED_MS / 1000,
    owned_by: 'demo',
    type: 'model',
    display_name: displayName,
    created_at: new Date(CREATED_MS).toISOString(),
  }
}
