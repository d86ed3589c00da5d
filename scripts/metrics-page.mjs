/** Writes `docs/metrics.md` from the catalogue of metrics. */

const GROUPS = [
  [
    'What each request adds to',
    'TRAFFIC_METRICS',
    'Counted when a request has ended. `model` is the name of a publication and `endpoint` that of an endpoint; both are empty for a request that did not come so far. `path` is one of the paths of the gateway, or `other`. Scrapes and `/health` are not counted.',
  ],
  ['What is so at the moment', 'STATE_METRICS', 'Read when it is asked for.'],
  ['Of the process', 'PROCESS_METRICS', 'Under the names that dashboards for Node know.'],
]

export function metricsPage(catalogue) {
  return `# Metrics

Generated from \`src/metering/metrics/catalogue.ts\` by \`npm run generate\`; a test fails when the two drift.

\`GET /metrics\` on the gateway answers in the text format of Prometheus to a request with the bearer token in the
environment variable \`METRICS_TOKEN\` of \`gw serve\`. Without one, or with an empty one, the path does not exist (404) and
nothing is measured. A wrong token is a 401. Keys of the configuration do not open it, and the token opens nothing else.
Only GET and HEAD; a scrape has no line in the request log unless it is rejected.

\`\`\`yaml
scrape_configs:
  - job_name: gw
    authorization: { credentials_file: /etc/prometheus/gw-metrics-token }
    static_configs: [{ targets: ["127.0.0.1:8090"] }]
\`\`\`

[grafana-dashboard.json](grafana-dashboard.json) is a dashboard for Grafana (import it and choose the data source), and
[alerts.yaml](alerts.yaml) has rules for Prometheus, each with what to do.

**Labels.** None takes a value from a request: a made-up model, path or key never makes a series. Series exist from
their first count on, and those of a publication or an endpoint that the configuration no longer names are dropped at
the reload. A model that is called through one endpoint has about 100 lines; 1,000 models at three endpoints each are 41 MB
that are written in pieces of 64 KiB, between which requests go on. Where that is too much, drop the buckets that no one
looks at with \`metric_relabel_configs\`.

**Names.** \`gw_*\` are the gateway's own. \`gen_ai_*\` are the instruments of OpenTelemetry's conventions for generative AI
as their exporters write them for Prometheus, with their labels: \`gen_ai.server.request.duration\` and
\`gen_ai.client.token.usage\`, with \`endpoint\` added. \`gen_ai_provider_name\` is the protocol of the path, \`openai\` or
\`anthropic\`; \`gen_ai_operation_name\` is chat, embeddings, rerank or count_tokens. There is no
\`gen_ai.server.time_to_first_token\`: a gateway sees bytes, and \`gw_time_to_first_byte_seconds\` says so. \`process_*\` and
\`nodejs_*\` are as prom-client has them; the delay of the event loop is without the interval at which it is looked at.

**Counters** begin anew with each process: \`rate()\` and \`increase()\` know that. For accounts use \`gw usage\`, which asks
the ledger.

${GROUPS.map(([title, part, lead]) => `## ${title}\n\n${lead}\n\n${table(catalogue[part])}`).join('\n')}`
}

function table(entries) {
  const rows = Object.entries(entries).map(([name, { type, labels, help, use }]) => {
    const by = labels.map(label => `\`${label}\``).join(', ')
    return `| \`${name}\` | ${type} | ${by} | ${help} | ${use} |\n`
  })
  return `| metric | type | labels | what it says | what to do |\n| --- | --- | --- | --- | --- |\n${rows.join('')}`
}
