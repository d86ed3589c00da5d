import type { FormField } from '../ui/resource-form.tsx'

export const TENANT_FIELDS: readonly FormField[] = [
  { path: 'display_name', label: 'Display name', type: 'text' },
  {
    path: 'status',
    label: 'Status',
    type: ['active', 'disabled', 'banned'],
    hint: 'Any status but active answers 403.',
  },
  {
    path: 'billing',
    label: 'Billing',
    type: ['postpaid', 'prepaid'],
    hint: 'prepaid: the wallet must cover each call.',
  },
  { path: 'models', label: 'Models', type: 'list', hint: 'Names or patterns, with commas. Default: all.' },
  { path: 'limits.rpm', label: 'Requests per minute', type: 'limit', hint: 'Of all its keys together.' },
  { path: 'limits.tpm', label: 'Tokens per minute', type: 'limit' },
  { path: 'limits.concurrency', label: 'Requests at a time', type: 'limit' },
  {
    path: 'self_service.max_keys',
    label: 'Keys that its users may create',
    type: 'number',
    isHead: true,
    hint: 'Empty: they create none.',
  },
  {
    path: 'self_service.limits.rpm',
    label: 'Each such key: requests per minute',
    type: 'limit',
    isRare: true,
  },
  { path: 'self_service.limits.tpm', label: 'Each such key: tokens per minute', type: 'limit', isRare: true },
  {
    path: 'self_service.limits.concurrency',
    label: 'Each such key: requests at a time',
    type: 'limit',
    isRare: true,
  },
  { path: 'self_service.models', label: 'Each such key: models', type: 'list', isRare: true },
  {
    path: 'banned_models',
    label: 'Banned models',
    type: 'list',
    isRare: true,
    hint: 'Stronger than models.',
  },
]
