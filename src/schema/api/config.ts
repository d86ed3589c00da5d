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
        fields: z.array(z.looseObject({ path: z.string(), type: z.enum(['value', 'list', 'secret']) })),
      }),
    ),
    warnings: z.array(z.looseObject({ code: z.string(), message: z.string() })),
    blast_radius: z
      .looseObject({
        breaks_keys: z.int().describe('Keys that lose a model, or are deleted.'),
        in_use_goes_away: z.int().describe('Deleted resources that were used in the last 24 hours.'),
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
        allow_deletes: z.int().min(0).default(10).describe('A plan with more deletions is rejected.'),
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
  list_revisions: {
    method: 'GET',
    path: '/config/revisions',
    tag: 'config',
    summary: 'List revisions',
    query: pageQuery,
    answer: { status: 200, description: 'Newest first.', schema: pageOf(revision) },
  },
  roll_back: {
    method: 'POST',
    path: '/config/rollback',
    tag: 'config',
    summary: 'Roll back to an earlier revision',
    description:
      'Makes a new revision with the resources of all owners. Secrets of keys that were deleted meanwhile are not restored.',
    body: z
      .strictObject({ revision: z.int().min(1).describe('The revision to restore.') })
      .meta({ id: 'rollback' }),
    answer: {
      status: 200,
      description: 'The rollback is applied.',
      schema: z
        .strictObject({ ...outcome, followed_files: z.array(followedFiles).optional() })
        .meta({ id: 'rolled_back' }),
    },
    errors: ['not_found', 'not_servable', 'changed_meanwhile'],
  },
} as const satisfies Record<string, Operation>
