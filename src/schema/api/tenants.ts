import { z } from 'zod'
import { name } from '../scalars.ts'
import { tenant } from '../tenant.ts'
import { patchOf, shownShape } from './reshape.ts'
import { byName, ownershipFields, pageOf, resourceQuery, revised } from './shapes.ts'
import type { Operation } from './types.ts'

const shown = z
  .strictObject({ name, ...shownShape(tenant.shape), ...ownershipFields })
  .meta({ id: 'tenant_shown', description: 'The present state of a tenant.' })

export const tenantOperations = {
  list_tenants: {
    method: 'GET',
    path: '/tenants',
    tag: 'tenants',
    summary: 'List tenants',
    query: resourceQuery,
    answer: { status: 200, description: 'Sorted by name.', schema: pageOf(shown) },
  },
  create_tenant: {
    method: 'POST',
    path: '/tenants',
    tag: 'tenants',
    summary: 'Create a tenant',
    body: z.strictObject({ name, ...tenant.shape }).meta({ id: 'new_tenant' }),
    answer: { status: 201, description: 'The tenant.', schema: shown, etag: true },
    errors: ['already_exists', 'managed_by_config', 'not_servable'],
  },
  get_tenant: {
    method: 'GET',
    path: '/tenants/{name}',
    tag: 'tenants',
    summary: 'Show a tenant',
    params: byName,
    target: 'tenant',
    answer: { status: 200, description: 'The tenant.', schema: shown, etag: true },
  },
  update_tenant: {
    method: 'PATCH',
    path: '/tenants/{name}',
    tag: 'tenants',
    summary: 'Change a tenant',
    params: byName,
    target: 'tenant',
    body: patchOf(tenant.shape).meta({ id: 'tenant_patch' }),
    answer: { status: 200, description: 'The tenant.', schema: shown, etag: true },
    errors: ['managed_by_config', 'not_servable'],
    ifMatch: 'required',
  },
  delete_tenant: {
    method: 'DELETE',
    path: '/tenants/{name}',
    tag: 'tenants',
    summary: 'Delete a tenant',
    description: 'The usage of its keys stays in the ledger. Rejected while the tenant has keys.',
    params: byName,
    target: 'tenant',
    answer: { status: 200, description: 'The tenant is deleted.', schema: revised },
    errors: ['managed_by_config', 'in_use'],
    ifMatch: 'optional',
  },
} as const satisfies Record<string, Operation>
