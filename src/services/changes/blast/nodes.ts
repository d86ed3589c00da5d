import { decode, KINDS, type Resource } from '../../../schema/kinds.ts'
import { nodeChoice, nodeEntry } from '../../../snapshot/entries.ts'
import type { NodeChoice } from '../../../snapshot/types.ts'
import type { StoredNode } from '../../../store/nodes/types.ts'
import { type ConnectedNode, choosesNode } from '../../../upstream/nodes.ts'
import type { NodeMove } from './types.ts'
import type { RecentUse } from './use.ts'

const DAY_MS = 86_400_000

/** Endpoints that are new on nodes, choose nodes in another way, or get other nodes because those have changed. */
export async function nodeMoves(
  before: readonly Resource[],
  after: readonly Resource[],
  use: RecentUse,
  nowMs: number,
): Promise<NodeMove[]> {
  const choices = choicesIn(after)
  if (choices.size === 0) return []
  const stored = await use.nodes()
  const connected = new Set(stored.flatMap(({ node, connection }) => (connection ? node : [])))
  const had = { choices: choicesIn(before), nodes: knownNodes(before, stored) }
  const nodes = knownNodes(after, stored)
  const moves = [...choices].flatMap(([endpoint, choice]) => {
    const old = had.choices.get(endpoint)
    const matched = namesOf(choice, nodes)
    const lost = old ? [...namesOf(old, had.nodes)].filter(name => !matched.has(name)) : []
    const matches = [...matched].filter(name => connected.has(name))
    const gained = old ? matches.filter(name => !namesOf(old, had.nodes).has(name)) : []
    if (old && lost.length + gained.length === 0 && isSame(old, choice)) return []
    return [{ endpoint, matches, gained, lost }]
  })
  const lostNodes = [...new Set(moves.flatMap(({ lost }) => lost))]
  const rows = lostNodes.length > 0 ? await use.nodeUse({ nodes: lostNodes, sinceMs: nowMs - DAY_MS }) : []
  const requests = new Map(rows.map(row => [`${row.endpoint} ${row.node}`, row.requests]))
  return moves
    .map(({ endpoint, matches, gained, lost }) => ({
      endpoint,
      matches: matches.toSorted(),
      gains: gained.toSorted(),
      loses: lost.toSorted().map(node => ({ node, requests: requests.get(`${endpoint} ${node}`) ?? 0 })),
    }))
    .sort((a, b) => (a.endpoint < b.endpoint ? -1 : 1))
}

function choicesIn(resources: readonly Resource[]): ReadonlyMap<string, NodeChoice> {
  const choices = new Map<string, NodeChoice>()
  for (const { kind, name, spec } of resources) {
    if (kind !== 'endpoint' || !spec['nodes']) continue
    const choice = nodeChoice(decode('endpoint', spec))
    if (choice) choices.set(name, choice)
  }
  return choices
}

/** Declared nodes and, if a token admits them, those that have joined without. */
function knownNodes(resources: readonly Resource[], stored: readonly StoredNode[]): readonly ConnectedNode[] {
  const declared = new Map<string, ConnectedNode>()
  for (const { kind, name, spec } of resources)
    if (kind === 'node') declared.set(name, nodeEntry({ name, spec: decode('node', spec) }))
  const settings = resources.find(({ kind }) => kind === 'settings')
  const { nodes } = settings ? decode('settings', settings.spec) : KINDS.settings.parse({})
  const others = nodes.admission === 'token' ? stored.filter(({ node }) => !declared.has(node)) : []
  return [
    ...declared.values(),
    ...others.map(({ node, labels }) => ({
      name: node,
      labels: new Map(Object.entries(labels)),
      engines: undefined,
    })),
  ]
}

function namesOf(choice: NodeChoice, nodes: readonly ConnectedNode[]): ReadonlySet<string> {
  return new Set(nodes.filter(node => choosesNode(choice, node)).map(({ name }) => name))
}

function isSame(one: NodeChoice, other: NodeChoice): boolean {
  const text = ({ labels, names, engine }: NodeChoice) =>
    JSON.stringify([labels.map(label => label.join('=')).sort(), [...(names ?? [])].sort(), engine])
  return text(one) === text(other)
}
