/**
 * The floors of the house (docs/architecture.md): a room imports from lower floors only, and rooms on one
 * floor never import each other. Packages have one home each, so that replacing one is a change to one room.
 */
const FLOORS = [
  ['base'],
  ['schema'],
  ['store', 'config', 'http'],
  ['snapshot', 'relay'],
  ['admission', 'routing', 'metering', 'changes'],
  ['gateway', 'control', 'demo'],
  ['app'],
  ['tui'],
  ['cli'],
]

const floors = FLOORS.flatMap((rooms, floor) =>
  rooms.map(room => {
    const above = FLOORS.slice(floor + 1).flat()
    const beside = rooms.filter(other => other !== room)
    return {
      name: `floor-${floor}-${room}`,
      comment: `src/${room} stands on floor ${floor}: it may import only what is below`,
      severity: 'error',
      from: { path: `^src/${room}/` },
      to: { path: `^src/(${[...above, ...beside].join('|') || '$none'})/` },
    }
  }),
)

const HOMES = {
  undici: ['relay'],
  kysely: ['store'],
  'better-sqlite3': ['store'],
  yaml: ['config'],
  zod: ['schema', 'changes', 'control'],
  pino: ['base'],
  commander: ['cli'],
  birpc: ['app'],
  chokidar: ['config'],
  'prom-client': ['metering'],
  ink: ['tui'],
  react: ['tui'],
}

const homes = Object.entries(HOMES).map(([name, rooms]) => ({
  name: `home-of-${name}`,
  comment: `${name} is used in ${rooms.join(', ')} only`,
  severity: 'error',
  from: { path: '^src/', pathNot: `^src/(${rooms.join('|')})/` },
  to: { path: `^node_modules/(@types/)?${name}/` },
}))

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-dev-dependency-in-src',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], pathNot: '@types/' },
    },
    {
      name: 'src-never-imports-tests',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|scripts)/' },
    },
    {
      name: 'base-is-pure',
      comment: 'base touches no file, no socket and no process',
      severity: 'error',
      from: { path: '^src/base/' },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|zlib|buffer|perf_hooks)$' },
    },
    {
      name: 'sockets-live-in-http-relay-demo',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(http|relay|demo|gateway|control|app)/' },
      to: { dependencyTypes: ['core'], path: '^(node:)?(http|https|http2|net|tls|dns)$' },
    },
    ...floors,
    ...homes,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.js'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
}
