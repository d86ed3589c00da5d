/** Why gw has no equivalent of a LiteLLM field, by its path without positions; the first match wins. */
const REASONS: readonly (readonly [path: RegExp, why: string])[] = [
  [/litellm_params\.(?:rpm|tpm)$/, 'gw limits keys and tenants by rate, and endpoints by `max_concurrency`'],
  [
    /litellm_params\.(?:temperature|top_p|max_tokens|n|stop|seed|frequency_penalty|presence_penalty|response_format|tools|tool_choice|stream|reasoning_effort|thinking|extra_body)\b/,
    'requests are forwarded byte for byte: clients set their own parameters',
  ],
  [
    /drop_params|modify_params|additional_drop_params/,
    'requests are forwarded byte for byte: nothing is dropped or changed',
  ],
  [/api_version$/, "Azure's v1 API needs none"],
  [
    /litellm_params\.stream_timeout$/,
    '`timeouts.first_byte` and `timeouts.idle` bound streams; see `gw explain timeouts`',
  ],
  [/litellm_params\.(?:api_key|api_base|base_url)$/, 'another field has the same value'],
  [
    /(?:input|output)_cost_per_|_cost/,
    'gw prices calls by tokens, requests and search units, and by their mode by seconds, characters or images made',
  ],
  [/litellm_params\./, 'endpoints of gw do not have this field'],
  [/model_info\./, 'gw needs no description of models beyond price and window'],
  [/master_key$/, 'users log in to the control plane: `gw users create`'],
  [/(?:database|db)|store_model_in_db|salt_key/, '`--store` names the database of gw'],
  [/redis|cache/, 'gw keeps no answers, and one gateway needs no Redis'],
  [
    /callback|langfuse|datadog|otel|sentry|logging|verbose|json_logs|debug/,
    'gw has `/metrics`, `gw logs` and a JSON line for each request',
  ],
  [/alert|slack|email|smtp/, 'Prometheus alerts: docs/alerts.yaml'],
  [
    /context_window_fallbacks|content_policy_fallbacks/,
    'gw falls back if an endpoint fails, never for the content of an answer',
  ],
  [/fallbacks/, 'gw falls back from tier to tier of one publication: `priority` of its bindings'],
  [
    /retr|allowed_fails|cooldown|health_check/,
    'gw fails over automatically; `settings.health` defines when an endpoint is unhealthy',
  ],
  [/routing_strategy|enable_pre_call_checks|lowest_latency/, 'gw routes by tier, weight and load'],
  [/timeout/, 'endpoints have `timeouts`'],
  [
    /max_budget|budget|max_user|team|user|key_generation|default_key|upperbound/,
    'tenants and keys of gw have limits and budgets: declare them',
  ],
  [/^environment_variables/, 'set the referenced variables in the environment of gw; values were not copied'],
  [
    /guardrail|moderation|mcp|pass_through|vector_store|search_tools|prompt|agent|policies/,
    'gw relays calls of models, and has no such service of its own',
  ],
  [/^credential_list/, 'no imported model refers to it'],
  [/^include/, 'import each of these files separately'],
  [/parallel_requests/, '`limits.concurrency` of keys and tenants, `max_concurrency` of endpoints'],
  [/spend_logs|retention/, '`settings.log.retention` limits the age of call logs'],
]

/** @param path without positions, such as `model_list.litellm_params.rpm`. @returns the reason for the report. */
export function reasonFor(path: string): string {
  return REASONS.find(([pattern]) => pattern.test(path))?.[1] ?? 'gw does not have this setting'
}
