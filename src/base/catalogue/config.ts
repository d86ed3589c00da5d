/**
 * The errors of configuration files. GW10xx: files · GW11xx: YAML · GW12xx: shape ·
 * GW13xx: names and references · GW14xx: interpolation and secrets.
 */
export interface ConfigFault {
  readonly title: string
  readonly hint: string
}

export const CONFIG_FAULTS = {
  GW1001: {
    title: 'The path does not exist or cannot be read.',
    hint: 'Name a file or a directory with -c.',
  },
  GW1002: {
    title: 'The directory holds no configuration file.',
    hint: 'Start with `gw init`, or add a .yaml or .yml file: an empty directory is never read as "delete everything".',
  },
  GW1003: {
    title: 'The file is empty.',
    hint: 'Write at least `version: 1`; an empty file is never read as "delete everything".',
  },
  GW1004: {
    title: 'The file is too large.',
    hint: 'Split it: one file may hold 16 MiB and a million YAML tokens.',
  },
  GW1005: { title: 'The file is not UTF-8 text.', hint: 'Save it as UTF-8 without a byte order mark.' },
  GW1006: {
    title: 'A Kubernetes manifest, not a gw file.',
    hint: 'Keep manifests elsewhere, or start from `config.example/`.',
  },
  GW1007: {
    title: 'A LiteLLM configuration, not a gw file.',
    hint: 'Run `gw import litellm FILE`: it becomes endpoints, publications and bindings.',
  },
  GW1101: { title: 'The YAML does not parse.', hint: 'Correct the syntax at the marked place.' },
  GW1102: { title: 'More than one document in a file.', hint: 'Put each document into a file of its own.' },
  GW1103: {
    title: 'A `%` directive.',
    hint: 'Remove it: gw reads YAML 1.2, where `no` and `off` are plain words.',
  },
  GW1104: { title: 'A tag that gw does not know.', hint: 'Remove the tag; gw needs none.' },
  GW1105: {
    title: 'Too many or too large aliases.',
    hint: 'Write the values out; this looks like an alias bomb.',
  },
  GW1106: {
    title: 'An alias without its anchor, or inside itself.',
    hint: 'Define the anchor before the alias.',
  },
  GW1107: { title: 'The same key twice in one map.', hint: 'Keep one of the two.' },
  GW1108: { title: 'The nesting is too deep.', hint: 'gw files are at most 32 levels deep.' },
  GW1109: { title: 'A map key that is not text.', hint: 'Quote the key.' },
  GW1110: {
    title: 'A merge of something that is not a map.',
    hint: 'Let `<<` name a map or a list of maps.',
  },
  GW1111: {
    title: 'A map key that is reserved.',
    hint: 'Choose another name: `__proto__` means something else to JavaScript.',
  },
  GW1201: { title: 'A value of the wrong kind.', hint: 'Write a value of the kind in the message.' },
  GW1202: { title: 'An unknown field.', hint: 'Remove it or correct its name.' },
  GW1203: { title: 'A required field is missing.', hint: 'Add the field.' },
  GW1204: {
    title: 'A value that is not one of the allowed values.',
    hint: 'Use one of the values in the message.',
  },
  GW1205: {
    title: 'A value out of range or of the wrong form.',
    hint: 'Correct the value as described in the message.',
  },
  GW1206: {
    title: 'Fields that cannot be combined.',
    hint: 'Change the combination as described in the message.',
  },
  GW1207: { title: 'A version that gw does not know.', hint: 'Write `version: 1` at the root of each file.' },
  GW1301: { title: 'The same name twice.', hint: 'Remove one of the two places.' },
  GW1302: {
    title: 'A reference to something that does not exist.',
    hint: 'Correct the name, or declare the resource.',
  },
  GW1303: { title: 'Two values for `set` in one tree.', hint: 'A tree owns one set: write `set` once.' },
  GW1304: { title: 'Two places for `settings`.', hint: 'Keep all settings in one file.' },
  GW1305: {
    title: 'A model name that no publication has.',
    hint: 'Correct the name, or keep it if the publication is added later.',
  },
  GW1306: {
    title: 'A listed publication without a binding.',
    hint: 'Add a binding, or give it another status, such as `draft`.',
  },
  GW1307: {
    title: 'Two keys with one secret.',
    hint: 'Give each key a secret of its own: one secret opens one key.',
  },
  GW1308: {
    title: 'A listed publication without a price, while `require_price` is set.',
    hint: 'Give it a `price`, `"0"` if it is free on purpose, or remove `require_price` from the settings.',
  },
  GW1309: {
    title: 'An address that is probably not the base URL of an API.',
    hint: 'Write the address up to the version path, such as `https://api.openai.com/v1`.',
  },
  GW1310: {
    title: 'A price that is probably one per token.',
    hint: 'Prices are per million tokens: multiply by 1,000,000.',
  },
  GW1311: {
    title: 'A quota or a budget that does not cover a first call.',
    hint: 'Raise it, give the publication a smaller `max_output_tokens`, or set its `output_cap`.',
  },
  GW1401: {
    title: 'An environment variable that is not set.',
    hint: 'Set it, or give a default: `${GW_NAME:-default}`.',
  },
  GW1402: {
    title: 'A malformed `${…}`.',
    hint: 'Write `${GW_NAME}` or `${GW_NAME:-default}`; a plain dollar sign is `$$`.',
  },
  GW1403: {
    title: 'An environment variable that does not start with GW_.',
    hint: 'Only GW_… variables may be read into a configuration.',
  },
  GW1404: {
    title: 'A secret in plain text.',
    hint: 'Write a reference, `{ env: NAME }` or `{ file: /path }`, and replace the secret: it was exposed in a file.',
  },
  GW1405: {
    title: 'A secret that cannot be resolved.',
    hint: 'Set the variable or create the file, and make it readable for gw.',
  },
} as const satisfies Record<`GW1${string}`, ConfigFault>

export type ConfigCode = keyof typeof CONFIG_FAULTS
