import type { FormField, Variants } from '../ui/resource-form.tsx'

/** An endpoint has an address, or it is on nodes. */
export const ENDPOINT_VARIANTS: Variants = {
  label: 'Served at',
  options: [
    { value: 'address', label: 'an address' },
    { value: 'nodes', label: 'engines on nodes' },
  ],
  of: ({ nodes }) => (nodes === undefined ? 'address' : 'nodes'),
}

export const ENDPOINT_FIELDS: readonly FormField[] = [
  {
    path: 'protocol',
    label: 'Protocol',
    type: ['openai', 'anthropic'],
    isRequired: true,
    hint: 'What the upstream speaks. Nothing is translated.',
  },
  {
    path: 'base_url',
    label: 'Base URL',
    type: 'text',
    isRequired: true,
    variant: 'address',
    hint: 'With the version path, such as https://api.openai.com/v1',
  },
  {
    path: 'nodes.engine',
    label: 'Engine',
    type: 'text',
    isRequired: true,
    isHead: true,
    variant: 'nodes',
    hint: 'Its name on each node, such as vllm',
  },
  {
    path: 'nodes.labels',
    label: 'Nodes with the labels',
    type: 'pairs',
    variant: 'nodes',
    hint: 'One a line: name: value. All of them.',
  },
  {
    path: 'nodes.names',
    label: 'Nodes with the names',
    type: 'list',
    variant: 'nodes',
    hint: 'With commas. Labels, names, or both.',
  },
  { path: 'served_model', label: 'Model at the upstream', type: 'text', isRequired: true },
  {
    path: 'upstream_key',
    label: 'Credential',
    type: 'secret',
    hint: 'Stored encrypted and never shown.',
  },
  { path: 'display_name', label: 'Display name', type: 'text' },
  {
    path: 'max_concurrency',
    label: 'Requests at a time',
    type: 'number',
    variant: 'address',
    hint: 'More go to other endpoints.',
  },
  {
    path: 'max_concurrency_per_node',
    label: 'Requests at a time on each node',
    type: 'number',
    variant: 'nodes',
    hint: 'More go to other nodes and endpoints.',
  },
  { path: 'skip_probe', label: 'Never probe it', type: 'switch', isRare: true },
  { path: 'auth', label: 'Credential sent as', type: ['bearer', 'x-api-key'], isRare: true },
  { path: 'paths', label: 'Paths', type: 'list', isRare: true, hint: 'Default: all of its protocol.' },
  { path: 'timeouts.connect', label: 'Timeout: connect', type: 'text', isRare: true },
  { path: 'timeouts.first_byte', label: 'Timeout: first byte', type: 'text', isRare: true },
  { path: 'timeouts.idle', label: 'Timeout: between two chunks', type: 'text', isRare: true },
  { path: 'timeouts.total', label: 'Timeout: total', type: 'text', isRare: true },
  { path: 'proxy', label: 'Proxy', type: 'text', isRare: true },
  { path: 'headers', label: 'Extra headers', type: 'pairs', isRare: true },
  { path: 'labels', label: 'Labels', type: 'pairs', isRare: true },
]
