/**
 * The layers of the architecture (docs/architecture.md): a module imports from lower layers only, and modules of
 * one layer never import each other. Each package has one home, so that replacing it changes one module.
 */
const LAYERS = [
  ['base'],
  ['schema'],
  ['store', 'config', 'http', 'tunnel'],
  ['snapshot', 'agent'],
  ['limits', 'upstream', 'metering'],
  ['gateway', 'services', 'demo'],
  ['admin'],
  ['server'],
  ['cli'],
]

const layers = LAYERS.flatMap((modules, layer) =>
  modules.map(module => {
    const above = LAYERS.slice(layer + 1).flat()
    const beside = modules.filter(other => other !== module)
    return {
      name: `layer-${layer}-${module}`,
      comment: `src/${module} is in layer ${layer}: it may import from lower layers only`,
      severity: 'error',
      from: { path: `^src/${module}/` },
      to: { path: `^src/(${[...above, ...beside].join('|') || '$none'})/` },
    }
  }),
)

const HOMES = {
  undici: ['upstream'],
  kysely: ['store'],
  'better-sqlite3': ['store'],
  pg: ['store'],
  yaml: ['config'],
  zod: ['schema', 'services', 'admin'],
  pino: ['base'],
  commander: ['cli'],
  birpc: ['server'],
  chokidar: ['config'],
  'prom-client': ['metering'],
  '@opentelemetry': ['metering'],
  ink: ['cli'],
  react: ['cli'],
}

const homes = Object.entries(HOMES).map(([name, modules]) => ({
  name: `home-of-${name}`,
  comment: `${name} is used in ${modules.join(', ')} only`,
  severity: 'error',
  from: { path: '^src/', pathNot: `^src/(${modules.join('|')})/` },
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
      name: 'loaded-when-needed',
      comment: 'these are large and few starts need them: only `await import(…)` loads them',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        path: '^src/(base/readable-lines|store/database-store|store/migrations/list|server/files/followed-files|server/admin-server|metering/metrics/metrics|metering/tracing/(environment|opentelemetry))[.]ts$',
        dynamic: false,
        dependencyTypesNot: ['type-only', 'type-import'],
      },
    },
    {
      name: 'src-never-imports-tests',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|scripts)/' },
    },
    {
      name: 'base-is-pure',
      comment: 'base uses no file, no socket and no process',
      severity: 'error',
      from: { path: '^src/base/' },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|zlib|buffer|perf_hooks|timers/promises)$' },
    },
    {
      name: 'sockets-have-few-homes',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: '^src/(http|tunnel|agent|upstream|demo|gateway|admin|services|server)/',
      },
      to: { dependencyTypes: ['core'], path: '^(node:)?(http|https|http2|net|tls|dns)$' },
    },
    {
      name: 'tunnel-is-small',
      comment: 'a node runs these from one small file: they use base and node: only',
      severity: 'error',
      from: { path: '^src/(tunnel|agent)/' },
      to: { pathNot: '^src/(tunnel|agent|base)/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'console-stands-alone',
      comment: 'the console knows the control plane by the generated types of its API alone',
      severity: 'error',
      from: { path: '^console/' },
      to: { path: '^(src|test|bench|scripts)/' },
    },
    {
      name: 'source-knows-no-console',
      severity: 'error',
      from: { path: '^(src|bench|scripts)/' },
      to: { path: '^console/' },
    },
    {
      name: 'console-parts-know-no-page',
      severity: 'error',
      from: { path: '^console/(api|ui)/' },
      to: { path: '^console/(pages|routes|main)' },
    },
    {
      name: 'console-api-knows-no-view',
      severity: 'error',
      from: { path: '^console/api/' },
      to: { path: '^console/ui/' },
    },
    ...layers,
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
