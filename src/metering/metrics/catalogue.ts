/**
 * Every metric of `/metrics`: its meaning, its labels, and how to react to it. The instruments and `docs/metrics.md` are
 * generated from it.
 *
 * Label values never come from a request: names of models and endpoints come from the configuration, codes from the error
 * catalogue, paths from the table of paths. Names follow the rules of Prometheus. If OpenTelemetry's conventions for
 * generative AI define an instrument, it has that name and those labels, as their Prometheus exporter writes them.
 */
export interface MetricEntry {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  /** Upper bounds, of a histogram. */
  readonly buckets?: readonly number[]
  /** What it counts; also the HELP text of the scrape. */
  readonly help: string
  /** How to use it. */
  readonly use: string
}

/** Seconds. OpenTelemetry's advice for `gen_ai.server.request.duration`, and on to where `total` timeouts end. */
const CALL_SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68,
  655.36, 1310.72,
]
/** Seconds. OpenTelemetry's advice for `gen_ai.server.time_to_first_token`, and on for prompts that take long. */
const FIRST_BYTE_SECONDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120, 300,
]
const OVERHEAD_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
]
/** OpenTelemetry's advice for `gen_ai.client.token.usage`. */
const TOKENS = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
]
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const GC_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]

const GEN_AI = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const
const CALL = ['path', 'model', 'endpoint'] as const

/** Metrics that requests add to. */
export const TRAFFIC_METRICS = {
  gw_requests_total: {
    type: 'counter',
    labels: [...CALL, 'status', 'outcome'],
    help: 'Requests that have ended, by the status sent to the client (0 if the client disconnected before) and by outcome.',
    use: 'Traffic and errors. `outcome` is answered, rejected, failed, client_gone or broken: a stream that broke off has status 200 and outcome broken.',
  },
  gw_rejections_total: {
    type: 'counter',
    labels: ['path', 'reason'],
    help: 'Requests that were rejected, failed or broke off, by the error code of the catalogue.',
    use: 'Look the code up in [errors.md](errors.md). Limits that reject much are too tight, or do their work.',
  },
  gw_shadow_rejections_total: {
    type: 'counter',
    labels: ['path', 'limit'],
    help: 'Requests that were admitted although a limit in shadow mode would have rejected them, by limit, such as key_rpm.',
    use: 'What `mode: enforce` would reject. `shadow_rejections` in the log of requests names key and tenant.',
  },
  gen_ai_server_request_duration_seconds: {
    type: 'histogram',
    labels: [...GEN_AI, 'endpoint', 'error_type'],
    buckets: CALL_SECONDS,
    help: 'From the first byte of a dispatched request to the last byte of its answer.',
    use: 'Latency by model and endpoint. `error_type` is empty if the answer was complete, else the error code, or client_gone.',
  },
  gw_time_to_first_byte_seconds: {
    type: 'histogram',
    labels: [...CALL, 'stream'],
    buckets: FIRST_BYTE_SECONDS,
    help: 'Until the first byte of an answer went to the client.',
    use: 'How soon a person sees something, with `stream="true"`; a whole answer begins when it is complete.',
  },
  gw_overhead_seconds: {
    type: 'histogram',
    labels: ['path'],
    buckets: OVERHEAD_SECONDS,
    help: 'Between the last byte of a request and its dispatch: checks, limits, and the commit of the hold.',
    use: 'What the gateway itself adds. Above 0.025 the disk of the store is slow (`gw_ledger_commit_seconds`) or the process is short of CPU.',
  },
  gen_ai_client_token_usage: {
    type: 'histogram',
    labels: [...GEN_AI, 'gen_ai_token_type'],
    buckets: TOKENS,
    help: 'Tokens of each call that was charged; of type input (cached tokens included) and output.',
    use: 'How large the calls are.',
  },
  gw_tokens_total: {
    type: 'counter',
    labels: [...CALL, 'class'],
    help: 'Tokens that were charged, by class; the classes do not overlap.',
    use: 'Use, and how much of the input came from a cache: `input`, `cached_input`, `cache_write`, `output`.',
  },
  gw_cost_total: {
    type: 'counter',
    labels: CALL,
    help: 'Charges of calls, in units of the configured currency.',
    use: 'Spending in real time. For accounting use `gw usage`: a counter starts at 0 with each process.',
  },
  gw_unpriced_calls_total: {
    type: 'counter',
    labels: CALL,
    help: 'Calls that were charged nothing because the publication has no price, or none for what they used.',
    use: 'Set a `price` on the publication, or know that it is free.',
  },
  gw_estimated_calls_total: {
    type: 'counter',
    labels: CALL,
    help: 'Calls whose usage was estimated because the upstream had not reported it.',
    use: 'A few come from clients that leave. Many: the endpoint does not report usage.',
  },
  gw_upstream_attempts_total: {
    type: 'counter',
    labels: ['endpoint', 'result'],
    help: 'Attempts to have an upstream answer, by result: answered, client_gone, broken, upstream_unpaid (an account there without money), or the error code.',
    use: 'The share that is not answered is the error rate of an endpoint, failovers included.',
  },
} as const satisfies Record<string, MetricEntry>

/** Metrics of the state at the time of the scrape. */
export const STATE_METRICS = {
  gw_requests_in_flight: {
    type: 'gauge',
    labels: [],
    help: 'Requests that have begun and not ended, with the scrape itself.',
    use: 'Load. It does not fall while clients read slowly or models think long.',
  },
  gw_connections_open: {
    type: 'gauge',
    labels: [],
    help: 'Connections of clients to the gateway.',
    use: 'Many more than requests in flight: idle keep-alive, or a client that holds connections open.',
  },
  gw_endpoint_healthy: {
    type: 'gauge',
    labels: ['endpoint'],
    help: '1 if an enabled endpoint has answered, 0 if it is unhealthy and skipped; no series before its first result.',
    use: '0: `gw probe NAME` shows the cause and a hint.',
  },
  gw_node_connected: {
    type: 'gauge',
    labels: ['node'],
    help: '1 if a node is connected and speaks; 0 if it is silent, or declared and not connected.',
    use: '0: the log of `gw node join` on that machine says why.',
  },
  gw_node_engine_up: {
    type: 'gauge',
    labels: ['node', 'engine'],
    help: '1 if an engine of a connected node answers, else 0.',
    use: '0 with the node connected: look at the model server on that machine.',
  },
  gw_node_engine_requests: {
    type: 'gauge',
    labels: ['node', 'engine', 'state'],
    help: 'Requests that are running or waiting in an engine, by its own figures, of all that call it.',
    use: 'Waiting all the time: another node, or a lower `max_concurrency_per_node`.',
  },
  gw_node_engine_cache_usage: {
    type: 'gauge',
    labels: ['node', 'engine'],
    help: 'Share of the KV cache of an engine in use, from 0 to 1, by its own figures.',
    use: 'From 0.95 on, while requests wait, the node gets new calls only if no other can take them.',
  },
  gw_node_requests_in_flight: {
    type: 'gauge',
    labels: ['endpoint', 'node'],
    help: 'Requests in flight of an endpoint on a node.',
    use: 'How calls are spread over the nodes of an endpoint.',
  },
  gw_node_endpoint_healthy: {
    type: 'gauge',
    labels: ['endpoint', 'node'],
    help: '1 if an endpoint has answered on a node, 0 if it is unhealthy there and skipped; no series before its first result.',
    use: '0: the engine of that node fails calls; `gw nodes show NODE` shows the engine.',
  },
  gw_holds_open: {
    type: 'gauge',
    labels: [],
    help: 'Holds that have not ended: calls that are dispatched or about to be.',
    use: 'It follows the requests in flight. One that only grows is a leak: report it.',
  },
  gw_holds_tokens: {
    type: 'gauge',
    labels: [],
    help: 'Tokens that open holds have taken of quotas.',
    use: 'Quotas that reject although little is spent: large `max_tokens` hold them.',
  },
  gw_holds_cost: {
    type: 'gauge',
    labels: [],
    help: 'What open holds have taken of budgets and balances, in units of the configured currency.',
    use: 'Budgets that reject although little is spent: this is held.',
  },
  gw_ledger_healthy: {
    type: 'gauge',
    labels: [],
    help: '1 while bills can be written; while 0 every billed route answers 503.',
    use: '0: the log says why: a full or failing disk of the journal, or of PostgreSQL.',
  },
  gw_ledger_queued_rows: {
    type: 'gauge',
    labels: [],
    help: 'Rows of the journal that are not in the store yet.',
    use: 'It should stay near the calls of 100 ms. Growing: the store does not keep up, or cannot be written.',
  },
  gw_ledger_lag_seconds: {
    type: 'gauge',
    labels: [],
    help: 'Age of the commit in progress; measured once a second, 0 if there is none.',
    use: 'Above 1: the ledger stalls, and prepaid calls wait. A slow or full disk, or a database that another program has locked.',
  },
  gw_ledger_commit_seconds: {
    type: 'histogram',
    labels: [],
    buckets: COMMIT_SECONDS,
    help: 'From handing a query to the ledger to its answer, with all earlier rows in the store; sampled once a second.',
    use: 'Prepaid calls wait for it. Above 0.025: a faster disk for the store.',
  },
  gw_call_logs_dropped_total: {
    type: 'counter',
    labels: [],
    help: 'Lines of the call log that were dropped because the ledger was behind. Bills never are.',
    use: 'Above 0: `gw logs` has gaps.',
  },
  gw_health_reason: {
    type: 'gauge',
    labels: ['reason'],
    help: '1 for each reason why `/health` is not `ok`, else 0.',
    use: '`gw explain REASON`, or [errors.md](errors.md#health-reasons).',
  },
  gw_config_revision: {
    type: 'gauge',
    labels: [],
    help: 'The revision that is served.',
    use: 'Several gateways should agree.',
  },
  gw_config_last_reload_successful: {
    type: 'gauge',
    labels: [],
    help: '1 if the newest revision is served, 0 if an older one is served because the newest is invalid.',
    use: '0: `/health` shows the reason.',
  },
  gw_config_last_reload_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'When the last reload ended, in seconds since the epoch.',
    use: 'Draw it as an annotation.',
  },
  gw_build_info: {
    type: 'gauge',
    labels: ['version', 'node'],
    help: 'Always 1; its labels are the versions of gw and Node.',
    use: 'Which version serves.',
  },
} as const satisfies Record<string, MetricEntry>

/** Metrics of the process, under the names that Node dashboards expect. */
export const PROCESS_METRICS = {
  process_cpu_user_seconds_total: {
    type: 'counter',
    labels: [],
    help: 'CPU time spent in the program.',
    use: 'Near 1 a second on the main thread a gateway is full: add one, or a core.',
  },
  process_cpu_system_seconds_total: {
    type: 'counter',
    labels: [],
    help: 'CPU time spent in the system for it.',
    use: 'Sockets and disk.',
  },
  process_cpu_seconds_total: {
    type: 'counter',
    labels: [],
    help: 'CPU time, of all threads.',
    use: 'As above, in one number.',
  },
  process_start_time_seconds: {
    type: 'gauge',
    labels: [],
    help: 'When the process started, in seconds since the epoch.',
    use: 'Restarts.',
  },
  process_resident_memory_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Memory of the process.',
    use: 'A climb without an end is a leak: report it.',
  },
  process_open_fds: {
    type: 'gauge',
    labels: [],
    help: 'Open file descriptors, sockets among them. Linux only.',
    use: 'Compare with the next.',
  },
  process_max_fds: {
    type: 'gauge',
    labels: [],
    help: 'How many file descriptors the process may open. Linux only.',
    use: 'Raise it (`ulimit -n`, `LimitNOFILE=`) before it is reached.',
  },
  nodejs_heap_size_total_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Heap of the main thread, as V8 has taken it.',
    use: 'Follows the next.',
  },
  nodejs_heap_size_used_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Heap of the main thread, as it is used.',
    use: 'A climb without an end is a leak: report it.',
  },
  nodejs_external_memory_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Memory outside the heap: bodies on their way.',
    use: 'Follows the requests in flight and their size.',
  },
  nodejs_gc_duration_seconds: {
    type: 'histogram',
    labels: ['kind'],
    buckets: GC_SECONDS,
    help: 'Pauses of the garbage collector, by kind: minor, major, incremental, weakcb.',
    use: 'Many above 0.025: the heap is too small for the requests in flight.',
  },
  nodejs_eventloop_lag_p50_seconds: {
    type: 'gauge',
    labels: [],
    help: "Median delay of the main thread's event loop since the last scrape.",
    use: 'Near 0. Above 0.01 the process is short of CPU.',
  },
  nodejs_eventloop_lag_p99_seconds: {
    type: 'gauge',
    labels: [],
    help: "99th percentile of the delay of the main thread's event loop since the last scrape.",
    use: 'Every stream stutters by so much. Above 0.05: short of CPU.',
  },
  nodejs_eventloop_lag_max_seconds: {
    type: 'gauge',
    labels: [],
    help: "Longest delay of the main thread's event loop since the last scrape.",
    use: 'Single stalls: large reloads, a machine that swaps.',
  },
} as const satisfies Record<string, MetricEntry>

export const METRICS: Readonly<Record<string, MetricEntry>> = {
  ...TRAFFIC_METRICS,
  ...STATE_METRICS,
  ...PROCESS_METRICS,
}
