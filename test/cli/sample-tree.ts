/** A small tree with one resource of each kind, and a later state of it: one to create, two to update, one to delete. */
export const FIRST = `version: 1
set: shop
settings: { currency: EUR }
endpoints:
  fast: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: fast-1, upstream_key: { env: FAST_KEY } }
  slow: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: slow-1 }
publications:
  chat:
    price: { input: "2.5", output: 10 }
    bindings: [{ endpoint: fast }]
tenants:
  blue: { display_name: Team Blue }
keys:
  app: { kind: tenant, tenant: blue, models: [chat, "gpt-*"], limits: { rpm: 60 } }
`

export const SECOND = `version: 1
set: shop
settings: { currency: EUR }
endpoints:
  fast: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: fast-1, upstream_key: { env: NEW_KEY } }
publications:
  chat:
    price: { input: "3", output: 10 }
    bindings: [{ endpoint: fast }]
tenants:
  blue: { display_name: Team Blue }
  green: {}
keys:
  app: { kind: tenant, tenant: blue, models: [chat, "o*"], limits: { rpm: 60 } }
`
