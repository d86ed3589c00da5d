/** Writes `docs/vendors.md` and `docs/prices.md` from the tables in `src/config/vendors`. */

const PATHS = {
  chat: '`/v1/chat/completions`',
  embeddings: '`/v1/embeddings`',
  rerank: '`/v1/rerank`',
  messages: '`/v1/messages`',
  count_tokens: '`/v1/messages/count_tokens`',
}

export function vendorsPage({ VENDORS }) {
  const rows = [...VENDORS.values()]
  const table = kind => {
    const chosen = rows.filter(row => row.kind === kind)
    return [
      '| id | upstream | protocol | `base_url` | key | serves |',
      '|---|---|---|---|---|---|',
      ...chosen.map(row => {
        const key = row.keyVariable === undefined ? 'none by default' : `\`${row.keyVariable}\``
        const auth = row.auth === undefined ? '' : `, \`auth: ${row.auth}\``
        const serves = row.services.map(service => PATHS[service]).join(', ')
        return `| \`${row.id}\` | [${row.title}](${row.source}) | \`${row.protocol}\` | \`${row.baseUrl}\` | ${key}${auth} | ${serves} |`
      }),
    ].join('\n')
  }
  const notes = rows.filter(row => row.note !== undefined).map(row => `- \`${row.id}\`: ${row.note}`)
  return `# Vendors and engines

Generated from \`src/config/vendors/table.ts\` by \`npm run generate\`; \`gw init\` and \`gw import\` use the same table, and a test
calls and probes a scripted upstream for each row: path and header are exactly those of the row.

\`\`\`sh
gw init my-gateway --vendor openai --model gpt-4o-mini --prices     # the id of a row, and a model of that vendor
\`\`\`

writes what stands below, with a tenant, a key and tests. In a configuration of your own:

\`\`\`yaml
endpoints:
  openai:
    protocol: openai                            # the API that the upstream speaks: nothing is translated
    base_url: https://api.openai.com/v1         # gw appends /chat/completions, /embeddings, /rerank, /messages
    served_model: gpt-4o-mini                   # the name that the upstream accepts
    upstream_key: { env: OPENAI_API_KEY }       # never the key itself; or { file: /run/secrets/openai }
publications:
  gpt-4o-mini: { bindings: [{ endpoint: openai }] }
\`\`\`

The key goes out as \`authorization: Bearer\` for protocol \`openai\` and as \`x-api-key\` for \`anthropic\`, unless \`auth\` says
otherwise. \`gw probe\` asks an endpoint for one word and names the cause if it fails: the credential, the path, the model
with the names that the upstream lists. Parts in braces, such as \`{resource}\`, are your own: fill them in, with
\`gw init --base-url\` or in the file.

A server seldom serves every path of its protocol. \`gw probe --paths\` finds those that it serves and prints the line to write,
\`paths: [/v1/chat/completions, /v1/embeddings]\`: calls of other paths go to other endpoints, or get a 404 that names these.

Models differ in what they take: gw passes parameters as they are, so an upstream that rejects one says so itself.

## Vendors

${table('vendor')}

## Servers of your own

${table('engine')}

Addresses are the defaults on the same machine; \`gw init --base-url http://gpu-1:8000/v1\` names another.

## Notes

${notes.join('\n')}

## Not in the table

- **Any other server of one of the two protocols**: take the nearest row, with an address of your own, and \`gw probe\` it.
- **Azure's dated API** (\`/openai/deployments/…?api-version=…\`): gw appends paths and no query. Use the v1 API.
- **Claude on Vertex AI**, **Bedrock's Converse and InvokeModel**: the model stands in their path, and the body is another one.
- **Gemini's own API**, **Cohere's own chat**, and others with a shape of their own: their OpenAI-compatible address, or a
  translating proxy behind gw.
`
}

export function pricesPage({ PRICE_LIST, PRICE_PAGES, PRICES_AS_OF, PRICES_CURRENCY }) {
  const rows = PRICE_LIST.map(({ account, model, price, note }) => {
    const cell = field => price[field] ?? ''
    return `| ${account} | \`${model}\` | ${cell('input')} | ${cell('output')} | ${cell('cached_input')} | ${cell('cache_write')} | ${note ?? ''} |`
  })
  const pages = Object.entries(PRICE_PAGES).map(([account, page]) => `[${account}](${page})`)
  return `# Price list

Generated from \`src/config/vendors/prices.ts\` by \`npm run generate\`.

What well-known models cost at their vendors, in ${PRICES_CURRENCY} per million tokens, **as of ${PRICES_AS_OF}**. Rows come from
the vendor's page where it could be read, else from public price lists; models whose price could not be confirmed are left out. Vendors change prices: compare with their pages
(${pages.join(', ')}).

\`gw init --prices\` and \`gw import litellm --prices\` copy a price from here into the configuration that they write, with this date.
Nothing else reads the list: what a gateway charges stands in its configuration, and is yours to change. A price of gw does
not depend on the length of a prompt, the hour of the day, or the region; the last column says where the vendor's does.
\`cache_write\` is the price of the shortest time.

A model without a price is free and counted as unpriced; \`settings.require_price: true\` rejects its calls instead (403 \`model_not_priced\`).

| account | model | input | output | cached input | cache write | the vendor charges otherwise |
|---|---|---|---|---|---|---|
${rows.join('\n')}
`
}
