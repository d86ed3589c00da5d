import type { FormField } from '../ui/resource-form.tsx'

/** What the users of a tenant say about a key that they create. */
export function ownKeyFields(): readonly FormField[] {
  return keyFields([]).filter(({ path }) => path !== 'kind' && path !== 'tenant')
}

export function keyFields(tenants: readonly string[]): readonly FormField[] {
  return [
    {
      path: 'kind',
      label: 'Kind',
      type: ['tenant', 'platform'],
      isRequired: true,
      hint: 'platform: no tenant, for tests of administrators',
    },
    { path: 'tenant', label: 'Tenant', type: 'text', suggestions: tenants },
    { path: 'display_name', label: 'Display name', type: 'text' },
    {
      path: 'models',
      label: 'Models',
      type: 'list',
      hint: 'Names or patterns, with commas. Default: all of the tenant.',
    },
    { path: 'limits.rpm', label: 'Requests per minute', type: 'limit' },
    { path: 'limits.tpm', label: 'Tokens per minute', type: 'limit' },
    { path: 'limits.concurrency', label: 'Requests at a time', type: 'limit' },
    { path: 'quota', label: 'Tokens in its life', type: 'limit' },
    {
      path: 'budget.amount',
      label: 'Budget',
      type: 'text',
      isHead: true,
      hint: 'Money, with the window beside it.',
    },
    { path: 'budget.per', label: 'Budget per', type: ['day', 'month', 'total'] },
    { path: 'budget.timezone', label: 'Time zone of the budget', type: 'text', isRare: true },
    {
      path: 'expires_at',
      label: 'Expires at',
      type: 'text',
      hint: 'Such as 2027-01-31T00:00:00Z',
      isRare: true,
    },
  ]
}
