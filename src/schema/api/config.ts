import { z } from 'zod'
import { probe } from './endpoints.ts'
import { pageOf, pageQuery, time } from './shapes.ts'
import type { Operation } from './types.ts'

const source = z
  .strictObject({
    yaml: z
      .string()
      .max(8 * 1_048_576)
      .describe(
        'One configuration file. Variables (`${GW_…}`) are not replaced, and only existing secret references are accepted, for the same host.',
      ),
  })
  .meta({ id: 'config_source' })

const problem = z
  .strictObject({
    code: z.string(),
    severity: z.enum(['error', 'warning']),
    message: z.string(),
    file: z.string(),
    line: z.int(),
    column: z.int(),
    other: z.strictObject({ file: z.string(), line: z.int(), column: z.int() }).optional(),
    frame: z.string().optional(),
    hint: z.string(),
  })
  .meta({ id: 'config_problem', description: 'An error or a warning, with its place.' })

const counts = z.strictObject({
  create: z.int(),
  update: z.int(),
  delete: z.int(),
  unchanged: z.int(),
})

const plan = z
  .looseObject({
    base: z.int().describe('The revision that the plan is based on.'),
    set: z.string().optional().describe('Absent for a rollback, which covers all sets.'),
    restores: z.int().optional().describe('Of a rollback: the revision that is restored.'),
    counts,
    changes: z.array(
      z.looseObject({
        action: z.enum(['create', 'update', 'delete']),
        kind: z.string(),
        name: z.string(),
        fields: z.array(
          z.looseObject({
            path: z.string(),
            type: z.enum(['value', 'list', 'secret']),
            before: z.json().optional(),
            after: z.json().optional(),
            added: z.array(z.json()).optional(),
            removed: z.array(z.json()).optional(),
          }),
        ),
      }),
    ),
    warnings: z.array(
      z.looseObject({ code: z.string(), kind: z.string(), name: z.string(), message: z.string() }),
    ),
    blast_radius: z
      .looseObject({
        breaks_keys: z
          .int()
          .describe(
            'Keys with a valid secret that lose a model, or are deleted; in a store that has issued none, all such keys.',
          ),
        in_use_goes_away: z.int().describe('Deleted resources that were used in the last 24 hours.'),
        access: z.array(
          z.looseObject({
            keys: z.array(z.string()),
            loses: z.array(z.string()),
            gains: z.array(z.string()),
            loses_all: z.boolean().describe('They may call no model any more.'),
          }),
        ),
        unserved: z.array(z.string()).describe('Publications that lose their last usable endpoint.'),
        nodes: z
          .array(
            z.looseObject({
              endpoint: z.string(),
              matches: z.array(z.string()).describe('The connected nodes that it may use afterwards.'),
              gains: z.array(z.string()),
              loses: z.array(
                z.looseObject({ node: z.string(), last_24h: z.looseObject({ requests: z.int() }) }),
              ),
            }),
          )
          .describe('Endpoints that are new on nodes, or whose nodes change.'),
        paths: z.array(z.looseObject({ publication: z.string(), loses: z.array(z.string()) })),
        prices: z.array(
          z.looseObject({
            publication: z.string(),
            part: z.string(),
            before: z.string().nullable(),
            after: z.string().nullable(),
            percent: z.number().optional(),
          }),
        ),
        limits: z
          .array(
            z.looseObject({
              kind: z.string(),
              name: z.string(),
              limit: z.string(),
              before: z.union([z.string(), z.number()]).nullable(),
              after: z.union([z.string(), z.number()]),
              used: z.union([z.string(), z.number()]),
            }),
          )
          .describe(
            'Lowered limits that would reject the recent use; `balance` is that of a tenant that becomes prepaid.',
          ),
        goes_away: z.array(
          z.looseObject({
            kind: z.string(),
            name: z.string(),
            how: z.enum(['deleted', 'disabled']),
            last_24h: z.looseObject({ requests: z.int(), tokens: z.int(), cost: z.string() }),
            last_used_at: time.nullable(),
          }),
        ),
        currency: z.string(),
      })
      .optional()
      .describe('The effect on clients.'),
    verdict: z.string().optional().describe('A summary in one line.'),
  })
  .meta({ id: 'plan', description: 'The changes that an apply would make, field by field.' })

const outcome = {
  applied: z.boolean().describe('False if there was nothing to change.'),
  revision: z.int().describe('The revision in force.'),
  plan,
  served_by: z.int().optional().describe('The gateways that serve the revision; only on the command line.'),
}

const KINDS = ['endpoint', 'publication', 'binding', 'tenant', 'key'] as const

const change = z
  .strictObject({
    kind: z.enum(KINDS),
    name: z.string().max(512).describe('Of a binding: its publication, a space, and its endpoint.'),
    patch: z
      .record(z.string(), z.json())
      .optional()
      .describe(
        'A JSON merge patch, or the fields of a new resource. Absent: the resource is deleted. Without `upstream_key`.',
      ),
  })
  .meta({ id: 'wanted_change' })

const preview = z
  .strictObject({
    plan,
    owner: z.enum(['config', 'cli', 'rest']).optional().describe('The present owner; absent for a new one.'),
    set: z.string().optional().describe('Only for `config`: the set of files.'),
    file: z.string().optional().describe('Only for `config`: the file that declares the resource.'),
    line: z.int().optional(),
    git_commit: z
      .string()
      .optional()
      .describe(
        'Only for `config`: the commit of the files that the resource last changed with, if it is known.',
      ),
    patch: z
      .string()
      .optional()
      .describe('Only for `config`: a unified diff that makes the change in the file.'),
    patches_file: z
      .boolean()
      .optional()
      .describe('False: the file is not on this machine, and the diff shows the resource alone.'),
  })
  .meta({ id: 'change_preview', description: 'The effect of a change of one resource.' })

const followedFiles = z
  .strictObject({
    gateway: z.string(),
    paths: z.array(z.string()),
    watch: z.boolean().describe('True: the files are applied on each save.'),
  })
  .meta({ id: 'followed_files', description: 'Files of a running gateway, whose next apply reverts this.' })

const revision = z
  .strictObject({
    id: z.int(),
    base: z.int(),
    origin: z.enum(['apply', 'cli', 'rest', 'rollback']),
    restores: z.int().optional().describe('Of a rollback: the revision that was restored.'),
    set: z.string().optional(),
    author: z.string().optional(),
    git_commit: z.string().optional(),
    dirty: z.boolean().optional().describe('Whether the files differed from that commit.'),
    created_at: time,
    counts,
  })
  .meta({ id: 'revision', description: 'One entry of the history.' })

const kindCounts = z.record(z.string(), z.int()).describe('Counts by kind.')

const sets = z
  .strictObject({
    data: z.array(
      z.strictObject({
        name: z.string(),
        resources: kindCounts,
        files: z.array(z.string()).describe('The files that declare them.'),
        updated_revision: z.int().describe('The revision of the last change.'),
      }),
    ),
    unmanaged: kindCounts.describe('Counts by kind of what no file declares.'),
  })
  .meta({ id: 'sets', description: 'The sets of configuration files.' })

const exported = z
  .strictObject({
    yaml: z.string(),
    resources: z.array(z.string()).describe('What it declares, as `kind/name`.'),
    variables: z
      .array(z.string())
      .describe('Variables that the file refers to in place of credentials that are stored here.'),
  })
  .meta({ id: 'exported_config', description: 'Resources as one configuration file.' })

const allowDeletes = z
  .int()
  .min(0)
  .optional()
  .describe(
    'The number of deletions of the reviewed plan. Without it a plan with more than 10 is rejected, and one with more than two and a fifth of its set.',
  )

export const configOperations = {
  validate_config: {
    method: 'POST',
    path: '/config/validate',
    tag: 'config',
    summary: 'Check a configuration',
    body: source,
    answer: {
      status: 200,
      description: 'It is valid; possibly with warnings.',
      schema: z
        .strictObject({
          valid: z.literal(true),
          set: z.string(),
          files: z.int(),
          resources: z.int(),
          problems: z.array(problem).describe('Warnings.'),
        })
        .meta({ id: 'config_valid' }),
    },
    errors: ['configuration_invalid'],
    isReadOnly: true,
  },
  plan_config: {
    method: 'POST',
    path: '/config/plan',
    tag: 'config',
    summary: 'Plan an apply',
    body: source,
    answer: { status: 200, description: 'The plan.', schema: plan },
    errors: ['configuration_invalid', 'reference_rejected', 'managed_by_config', 'in_use'],
    isReadOnly: true,
  },
  preview_change: {
    method: 'POST',
    path: '/config/patch',
    tag: 'config',
    summary: 'Preview the change of one resource',
    description:
      'The plan and the blast radius of a change to a resource of any owner; nothing is changed. For a resource of configuration files also the diff that makes the change there.',
    body: change,
    answer: { status: 200, description: 'The preview.', schema: preview },
    errors: ['not_found', 'in_use'],
    isReadOnly: true,
  },
  apply_config: {
    method: 'POST',
    path: '/config/apply',
    tag: 'config',
    summary: 'Apply a configuration',
    body: source
      .extend({
        base: z
          .int()
          .min(0)
          .describe('The revision of the reviewed plan; rejected if the store has moved on.'),
        allow_deletes: allowDeletes,
        skip_probe: z.boolean().default(false).describe('Do not probe new and changed endpoints.'),
      })
      .meta({ id: 'config_apply' }),
    answer: {
      status: 200,
      description: 'The configuration is applied.',
      schema: z
        .strictObject({ ...outcome, probes: z.array(probe).describe('Of new and changed endpoints.') })
        .meta({ id: 'config_applied' }),
    },
    errors: [
      'configuration_invalid',
      'reference_rejected',
      'managed_by_config',
      'in_use',
      'changed_meanwhile',
      'too_many_deletes',
      'not_servable',
      'probe_failed',
    ],
  },
  list_sets: {
    method: 'GET',
    path: '/config/sets',
    tag: 'config',
    summary: 'List the sets of configuration files',
    answer: { status: 200, description: 'Sorted by name.', schema: sets },
  },
  export_config: {
    method: 'GET',
    path: '/config/export',
    tag: 'config',
    summary: 'Export resources as a configuration file',
    description: 'With references in place of secrets.',
    query: z.strictObject({
      set: z.string().max(128).optional().describe('Absent: the resources that no file declares.'),
    }),
    answer: { status: 200, description: 'The file.', schema: exported },
    errors: ['not_found'],
  },
  list_revisions: {
    method: 'GET',
    path: '/config/revisions',
    tag: 'config',
    summary: 'List revisions',
    query: pageQuery,
    answer: { status: 200, description: 'Newest first.', schema: pageOf(revision) },
  },
  get_revision: {
    method: 'GET',
    path: '/config/revisions/{id}',
    tag: 'config',
    summary: 'Show a revision with its changes',
    params: z.strictObject({ id: z.coerce.number<string>().int().min(1).describe('The revision.') }),
    query: z.strictObject({
      since: z.coerce
        .number<string>()
        .int()
        .min(0)
        .optional()
        .describe(
          'The changes since this revision, in place of those since the one before; 0: since nothing.',
        ),
    }),
    answer: {
      status: 200,
      description: 'The revision.',
      schema: z
        .strictObject({
          ...revision.shape,
          since: z.int().optional().describe('The revision that `changes` are since, if one was named.'),
          changes: plan.shape.changes,
        })
        .meta({ id: 'revision_shown', description: 'A revision with its changes, field by field.' }),
    },
    errors: ['not_found'],
  },
  roll_back: {
    method: 'POST',
    path: '/config/rollback',
    tag: 'config',
    summary: 'Roll back to an earlier revision',
    description:
      'Makes a new revision with the resources of all owners. Secrets of keys that were deleted meanwhile are not restored.',
    body: z
      .strictObject({
        revision: z.int().min(1).describe('The revision to restore.'),
        dry_run: z.boolean().default(false).describe('Answers with the plan, and changes nothing.'),
        base: z
          .int()
          .min(0)
          .optional()
          .describe('The revision of the reviewed plan; rejected if the store has moved on.'),
        allow_deletes: allowDeletes,
      })
      .meta({ id: 'rollback' }),
    answer: {
      status: 200,
      description: 'The rollback is applied.',
      schema: z
        .strictObject({ ...outcome, followed_files: z.array(followedFiles).optional() })
        .meta({ id: 'rolled_back' }),
    },
    errors: ['not_found', 'not_servable', 'changed_meanwhile', 'too_many_deletes'],
  },
} as const satisfies Record<string, Operation>
