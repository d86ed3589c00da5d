import { type Command, InvalidArgumentError } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { DEFAULT_JOIN_MS, nodePattern } from '../../schema/api/nodes.ts'
import {
  createJoinToken,
  drainNode,
  type JoinTokenShown,
  listJoinTokens,
  listNodes,
  type NodeShown,
  revokeJoinToken,
  revokeNode,
  showNode,
  uncordonNode,
} from '../../services/nodes.ts'
import { ALL_ROWS } from '../../services/paging.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { printPage } from '../output/output.ts'
import { printable } from '../output/style.ts'
import { type Column, table } from '../output/table.ts'
import type { BindHandler } from '../session.ts'
import { durationArgument } from '../time-argument.ts'

/** `gw nodes`: machines that dial in and serve models. */
export function nodesCommand(bind: BindHandler): Command {
  return newCommand('nodes', 'Manage nodes: machines that dial in and serve models.', [
    'gw nodes token gpu-7 --ttl 1h',
    'gw nodes list',
    'gw nodes drain gpu-7',
    'gw nodes revoke gpu-7',
  ])
    .addCommand(tokenCommand(bind))
    .addCommand(tokensCommand(bind))
    .addCommand(revokeTokenCommand(bind))
    .addCommand(listCommand(bind))
    .addCommand(showCommand(bind))
    .addCommand(
      changeCommand(bind, {
        name: 'drain',
        summary: 'Give a node no new calls; those in flight go on.',
        example: 'gw nodes drain gpu-7   # until `gw nodes uncordon gpu-7`',
        done: name => `Node ${name} gets no new calls.`,
        work: drainNode,
      }),
    )
    .addCommand(
      changeCommand(bind, {
        name: 'uncordon',
        summary: 'Give a node calls again.',
        example: 'gw nodes uncordon gpu-7',
        done: name => `Node ${name} gets calls again.`,
        work: uncordonNode,
      }),
    )
    .addCommand(revokeCommand(bind))
}

interface TokenOptions {
  readonly ttl?: number
  readonly label?: Readonly<Record<string, string>>
  readonly uses: number
}

function tokenCommand(bind: BindHandler): Command {
  return newCommand('token', 'Create a join token, and print it once, alone on stdout.', [
    'gw nodes token gpu-7 --ttl 1h',
    "gw nodes token 'gpu-*' --uses 8 --label pool=h100   # with settings.nodes.admission: token",
  ])
    .argument('<name>', 'the name of the node; `*` stands for any characters')
    .option('--ttl <duration>', 'how long it can be used; at most 30d (default: 1h)', durationArgument)
    .option('--uses <n>', 'how many nodes can join with it', usesArgument, 1)
    .option('--label <name=value>', 'a label of the nodes; repeatable', labelArgument)
    .action(
      bind<TokenOptions>(
        async (session, [pattern = ''], { ttl: spanMs = DEFAULT_JOIN_MS, label = {}, uses }) => {
          const [issue] = nodePattern.safeParse(pattern).error?.issues ?? []
          if (issue) throw new CommandError('usage', `The name of a node has ${issue.message}.`)
          if (spanMs < 60_000 || spanMs > 30 * 86_400_000)
            throw new CommandError('usage', 'A join token can be used for 1 minute to 30 days.')
          const wanted = { pattern, labels: label, uses, spanMs }
          const issued = await inStore(session, 'write', context => createJoinToken(context, wanted))
          if (session.out.format === 'text')
            session.out.info(`Join token ${issued.id} for ${pattern}, until ${issued.expires_at}:`)
          session.out.result({ text: () => `${issued.token}\n`, json: () => issued })
          return EXIT.done
        },
      ),
    )
}

function tokensCommand(bind: BindHandler): Command {
  return newCommand('tokens', 'List join tokens that can be used.', ['gw nodes tokens']).action(
    bind(async (session, _args) => {
      const { out } = session
      const page = await inStore(session, 'read', context => listJoinTokens(context, { limit: ALL_ROWS }))
      printPage(out, page, 'No join tokens: `gw nodes token NAME`.', tokens =>
        table(TOKEN_COLUMNS, tokens, out.style, out.width),
      )
      return EXIT.done
    }),
  )
}

const TOKEN_COLUMNS: readonly Column<JoinTokenShown>[] = [
  { title: 'ID', cell: ({ id }) => id },
  { title: 'FOR', cell: ({ pattern }) => pattern, narrowest: 8 },
  { title: 'LABELS', cell: ({ labels }) => labelsText(labels), dispensable: true },
  { title: 'USES LEFT', cell: ({ uses_left: uses }) => String(uses) },
  { title: 'EXPIRES', cell: ({ expires_at: at }) => at },
]

function revokeTokenCommand(bind: BindHandler): Command {
  return newCommand('revoke-token', 'Revoke a join token. Nodes that have joined with it stay.', [
    'gw nodes revoke-token 4f0c21d3a9be',
  ])
    .argument('<id>', 'an ID from `gw nodes tokens`')
    .action(
      bind(async (session, [id = '']) => {
        await inStore(session, 'write', context => revokeJoinToken(context, { id }))
        session.out.result({
          text: () => `Join token ${printable(id)} is revoked.\n`,
          json: () => ({ join_token: id, revoked: true }),
        })
        return EXIT.done
      }),
    )
}

function listCommand(bind: BindHandler): Command {
  return newCommand('list', 'List nodes that have joined, with their state and engines.', [
    'gw nodes list',
    'gw nodes list --endpoint qwen   # those that it chooses',
  ])
    .option('--endpoint <name>', 'only nodes that this endpoint chooses')
    .action(
      bind<{ readonly endpoint?: string }>(async (session, _args, { endpoint }) => {
        const { out } = session
        const query = { limit: ALL_ROWS, endpoint }
        const page = await inStore(session, 'read', context => listNodes(context, query))
        const none =
          endpoint === undefined
            ? 'No node has joined yet: `gw nodes token NAME`.'
            : `Endpoint ${endpoint} chooses no node that has joined.`
        printPage(out, page, none, nodes => table(NODE_COLUMNS, nodes, out.style, out.width))
        return EXIT.done
      }),
    )
}

const NODE_COLUMNS: readonly Column<NodeShown>[] = [
  { title: 'NAME', cell: ({ name }) => name, narrowest: 8 },
  { title: 'STATE', cell: ({ state }) => state },
  { title: 'ENGINES', cell: enginesText },
  { title: 'SERVES', cell: endpointsText, dispensable: true },
  { title: 'LABELS', cell: ({ labels }) => labelsText(labels), dispensable: true },
  { title: 'ADDRESS', cell: ({ address }) => address ?? '-', dispensable: true },
  { title: 'CONNECTED', cell: ({ connected_at: at }) => at ?? '-', dispensable: true },
]

function showCommand(bind: BindHandler): Command {
  return newCommand('show', 'Show a node.', ['gw nodes show gpu-7'])
    .argument('<name>', 'the node')
    .action(
      bind(async (session, [name = '']) => {
        const node = await inStore(session, 'read', context => showNode(context, { name }))
        session.out.result({ text: () => nodeText(node), json: () => node })
        return EXIT.done
      }),
    )
}

interface Change {
  readonly name: string
  readonly summary: string
  readonly example: string
  readonly done: (name: string) => string
  readonly work: typeof drainNode
}

function changeCommand(bind: BindHandler, { name: command, summary, example, done, work }: Change): Command {
  return newCommand(command, summary, [example])
    .argument('<name>', 'the node')
    .action(
      bind(async (session, [name = '']) => {
        const node = await inStore(session, 'write', context => work(context, { name }))
        session.out.result({ text: () => `${done(printable(name))}\n`, json: () => node })
        return EXIT.done
      }),
    )
}

function revokeCommand(bind: BindHandler): Command {
  return newCommand('revoke', 'End the credential of a node, and its connection with all calls on it.', [
    'gw nodes revoke gpu-7   # it can join again with a new token',
  ])
    .argument('<name>', 'the node')
    .action(
      bind(async (session, [name = '']) => {
        const revoked = await inStore(session, 'write', context => revokeNode(context, { name }))
        session.out.result({
          text: () => `The credential of ${printable(name)} has ended.\n`,
          json: () => revoked,
        })
        return EXIT.done
      }),
    )
}

function nodeText(node: NodeShown): string {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['node', node.name],
    ['state', node.state],
    ['declared', node.declared ? 'yes' : 'no'],
    ['labels', labelsText(node.labels)],
    ['joined', node.joined_at],
    ['draining since', node.draining_since],
    ['connected since', node.connected_at],
    ['address', node.address],
    ['version', node.version],
    ['serves', endpointsText(node)],
  ]
  const engines = (node.engines ?? []).map(
    ({ name, kind, state, models }) =>
      [
        `engine ${name}`,
        `${state}${kind === undefined ? '' : `, ${kind}`}: ${models.join(', ') || 'no models'}`,
      ] as const,
  )
  const shown = [...rows, ...engines].flatMap(([title, value]) =>
    value === undefined ? [] : [[title, value] as const],
  )
  const width = Math.max(...shown.map(([title]) => title.length))
  return shown.map(([title, value]) => `${title.padEnd(width)}  ${printable(value)}\n`).join('')
}

function enginesText({ engines }: NodeShown): string {
  if (!engines || engines.length === 0) return '-'
  return engines.map(({ name, state }) => (state === 'up' ? name : `${name} (down)`)).join(', ')
}

function endpointsText({ endpoints }: NodeShown): string {
  return endpoints.map(({ name }) => name).join(', ') || '-'
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${value}`)
  return pairs.length === 0 ? '-' : pairs.join(', ')
}

function usesArgument(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Write a whole number from 1 to 999.')
}

function labelArgument(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const [, label, value] = /^([^=]{1,64})=(.{0,1024})$/.exec(text) ?? []
  if (label === undefined || value === undefined) throw new InvalidArgumentError('Write NAME=VALUE.')
  return { ...before, [label]: value }
}
