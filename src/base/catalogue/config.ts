import type { ErrorNumber } from './command.ts'

/**
 * The errors of configuration files. GW10xx: files · GW11xx: YAML · GW12xx: shape ·
 * GW13xx: names and references · GW14xx: interpolation and secrets.
 */
export interface ConfigFault {
  /** The code in messages, JSON and docs/errors.md. */
  readonly number: ErrorNumber
  readonly title: string
  readonly hint: string
}

export const CONFIG_FAULTS = {
  path_unreadable: {
    number: 'GW1001',
    title: 'The path does not exist or cannot be read.',
    hint: 'Name a file or a directory with -c. `gw test` reads NAME.test.yaml beside NAME.yaml, or the files that it is given.',
  },
  directory_empty: {
    number: 'GW1002',
    title: 'The directory holds no configuration file.',
    hint: 'Start with `gw init`, or add a .yaml or .yml file: an empty directory is never read as "delete everything".',
  },
  file_empty: {
    number: 'GW1003',
    title: 'The file is empty.',
    hint: 'Write at least `version: 1`; an empty file is never read as "delete everything".',
  },
  file_too_large: {
    number: 'GW1004',
    title: 'The file is too large.',
    hint: 'Split it: one file may hold 16 MiB and a million YAML tokens.',
  },
  not_utf8: {
    number: 'GW1005',
    title: 'The file is not UTF-8 text.',
    hint: 'Save it as UTF-8 without a byte order mark.',
  },
  kubernetes_manifest: {
    number: 'GW1006',
    title: 'A Kubernetes manifest, not a gw file.',
    hint: 'Keep manifests elsewhere, or start from `config.example/`.',
  },
  litellm_configuration: {
    number: 'GW1007',
    title: 'A LiteLLM configuration, not a gw file.',
    hint: 'Run `gw import litellm FILE`: it becomes endpoints, publications and bindings.',
  },
  yaml_syntax: {
    number: 'GW1101',
    title: 'The YAML does not parse.',
    hint: 'Correct the syntax at the marked place.',
  },
  several_documents: {
    number: 'GW1102',
    title: 'More than one document in a file.',
    hint: 'Put each document into a file of its own.',
  },
  yaml_directive: {
    number: 'GW1103',
    title: 'A `%` directive.',
    hint: 'Remove it: gw reads YAML 1.2, where `no` and `off` are plain words.',
  },
  unknown_tag: {
    number: 'GW1104',
    title: 'A tag that gw does not know.',
    hint: 'Remove the tag; gw needs none.',
  },
  alias_limit: {
    number: 'GW1105',
    title: 'Too many or too large aliases.',
    hint: 'Write the values out; this looks like an alias bomb.',
  },
  alias_undefined: {
    number: 'GW1106',
    title: 'An alias without its anchor, or inside itself.',
    hint: 'Define the anchor before the alias.',
  },
  duplicate_map_key: {
    number: 'GW1107',
    title: 'The same key twice in one map.',
    hint: 'Keep one of the two.',
  },
  nesting_too_deep: {
    number: 'GW1108',
    title: 'The nesting is too deep.',
    hint: 'gw files are at most 32 levels deep.',
  },
  map_key_not_text: {
    number: 'GW1109',
    title: 'A map key that is not text.',
    hint: 'Quote the key.',
  },
  merge_not_map: {
    number: 'GW1110',
    title: 'A merge of something that is not a map.',
    hint: 'Let `<<` name a map or a list of maps.',
  },
  reserved_map_key: {
    number: 'GW1111',
    title: 'A map key that is reserved.',
    hint: 'Choose another name: `__proto__` means something else to JavaScript.',
  },
  wrong_type: {
    number: 'GW1201',
    title: 'A value of the wrong kind.',
    hint: 'Write a value of the kind in the message.',
  },
  unknown_field: {
    number: 'GW1202',
    title: 'An unknown field.',
    hint: 'Remove it or correct its name.',
  },
  missing_field: {
    number: 'GW1203',
    title: 'A required field is missing.',
    hint: 'Add the field.',
  },
  unknown_value: {
    number: 'GW1204',
    title: 'A value that is not one of the allowed values.',
    hint: 'Use one of the values in the message.',
  },
  value_out_of_range: {
    number: 'GW1205',
    title: 'A value out of range or of the wrong form.',
    hint: 'Correct the value as described in the message.',
  },
  fields_conflict: {
    number: 'GW1206',
    title: 'Fields that cannot be combined.',
    hint: 'Change the combination as described in the message.',
  },
  unknown_version: {
    number: 'GW1207',
    title: 'A version that gw does not know.',
    hint: 'Write `version: 1` at the root of each file.',
  },
  duplicate_name: {
    number: 'GW1301',
    title: 'The same name twice.',
    hint: 'Remove one of the two places.',
  },
  unknown_reference: {
    number: 'GW1302',
    title: 'A reference to something that does not exist.',
    hint: 'Correct the name, or declare the resource.',
  },
  duplicate_set: {
    number: 'GW1303',
    title: 'Two values for `set` in one tree.',
    hint: 'A tree owns one set: write `set` once.',
  },
  duplicate_settings: {
    number: 'GW1304',
    title: 'Two places for `settings`.',
    hint: 'Keep all settings in one file.',
  },
  unknown_model: {
    number: 'GW1305',
    title: 'A model name that no publication has.',
    hint: 'Correct the name, or keep it if the publication is added later.',
  },
  listed_without_binding: {
    number: 'GW1306',
    title: 'A listed publication without a binding.',
    hint: 'Add a binding, or give it another status, such as `draft`.',
  },
  duplicate_secret: {
    number: 'GW1307',
    title: 'Two keys with one secret.',
    hint: 'Give each key a secret of its own: one secret opens one key.',
  },
  listed_without_price: {
    number: 'GW1308',
    title: 'A listed publication without a price, while `require_price` is set.',
    hint: 'Give it a `price`, `"0"` if it is free on purpose, or remove `require_price` from the settings.',
  },
  suspicious_base_url: {
    number: 'GW1309',
    title: 'An address that is probably not the base URL of an API.',
    hint: 'Write the address up to the version path, such as `https://api.openai.com/v1`.',
  },
  suspicious_price: {
    number: 'GW1310',
    title: 'A price that is probably one per token.',
    hint: 'Prices are per million tokens: multiply by 1,000,000.',
  },
  limit_below_first_call: {
    number: 'GW1311',
    title: 'A quota or a budget that does not cover a first call.',
    hint: 'Raise it, give the publication a smaller `max_output_tokens`, or set its `output_cap`.',
  },
  unknown_node: {
    number: 'GW1312',
    title: 'A name of a node that no file declares.',
    hint: 'Declare it under `nodes`, or correct the name. With `settings.nodes.admission: token` no declaration is needed.',
  },
  variable_not_set: {
    number: 'GW1401',
    title: 'An environment variable that is not set.',
    hint: 'Set it, or give a default: `${GW_NAME:-default}`.',
  },
  malformed_interpolation: {
    number: 'GW1402',
    title: 'A malformed `${…}`.',
    hint: 'Write `${GW_NAME}` or `${GW_NAME:-default}`; a plain dollar sign is `$$`.',
  },
  variable_not_allowed: {
    number: 'GW1403',
    title: 'An environment variable that the configuration may not read.',
    hint: 'Files may read variables whose names start with GW_; documents over REST may read none.',
  },
  literal_secret: {
    number: 'GW1404',
    title: 'A secret in plain text.',
    hint: 'Write a reference, `{ env: NAME }` or `{ file: /path }`, and replace the secret: it was exposed in a file.',
  },
  secret_unresolved: {
    number: 'GW1405',
    title: 'A secret that cannot be resolved.',
    hint: 'Set the variable or create the file, and make it readable for gw.',
  },
} as const satisfies Record<string, ConfigFault>

export type ConfigCode = keyof typeof CONFIG_FAULTS
