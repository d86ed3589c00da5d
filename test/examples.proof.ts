import { execFile } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { gw } from './cli/in-process.ts'
import { freePort } from './support/free-port.ts'
import { tempDir } from './support/temp-dir.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const EXAMPLES = new URL('../examples/', import.meta.url)
const folders = readdirSync(EXAMPLES, { withFileTypes: true }).flatMap(entry =>
  entry.isDirectory() ? entry.name : [],
)

/** Runs the `run.sh` of an example with the `gw` of this checkout, at ports that are free. @returns its output */
async function run(example: string): Promise<string> {
  const bin = tempDir(onTestFinished)
  bin.write('gw', `#!/usr/bin/env bash\nexec "${process.execPath}" "${ROOT}bin/gw.js" "$@"\n`)
  bin.write('node', `#!/usr/bin/env bash\nexec "${process.execPath}" "$@"\n`)
  for (const name of ['gw', 'node']) chmodSync(bin.at(name), 0o755)
  const env = {
    ...process.env,
    PATH: `${bin.path}${delimiter}${process.env['PATH']}`,
    GATEWAY: `127.0.0.1:${await freePort()}`,
    DEMO: `127.0.0.1:${await freePort()}`,
    NO_COLOR: '1',
  }
  return new Promise((resolve, reject) => {
    execFile(
      'bash',
      [fileURLToPath(new URL(`${example}/run.sh`, EXAMPLES))],
      { env },
      (error, stdout, stderr) => {
        if (error) reject(new Error(`${example}: ${stdout}${stderr}`, { cause: error }))
        else resolve(stdout)
      },
    )
  })
}

// Each starts several processes.
describe('examples', () => {
  it('sdks: the SDKs of OpenAI and Anthropic are answered, streamed and not', async () => {
    const output = await run('sdks')
    for (const line of ['openai: chat', 'openai, streamed:', 'anthropic: chat', 'anthropic, streamed:'])
      expect(output).toMatch(new RegExp(`^${line} .*Hello!`, 'm'))
  })

  it('failover: the second endpoint serves where the first is down, and the call log says so', async () => {
    const output = await run('failover')
    expect(output).toContain('HTTP 200')
    expect(output).toMatch(/after first: upstream_error .* second /)
  })

  it('prepaid: a 402 without credit, an answer after a credit, and both in the wallet', async () => {
    const output = await run('prepaid')
    expect(output).toMatch(/HTTP 402[^]*HTTP 200/)
    expect(output).toContain('invoice-2026-001')
    expect(output).toMatch(/balance +4\.9\d+ EUR/)
  })

  it('from-litellm: the import is valid, and its models are served', async () => {
    const output = await run('from-litellm')
    expect(output).toMatch(/gpt-4o-mini/)
  })

  it('kubernetes: the manifests are those of the page, and the configuration is valid', async () => {
    const folder = new URL('kubernetes/', EXAMPLES)
    const read = (name: string) => readFileSync(new URL(name, folder), 'utf8')
    const [, manifest] =
      /^```yaml\n(.*?)^```$/ms.exec(readFileSync(`${ROOT}docs/kubernetes.md`, 'utf8')) ?? []
    expect(read('gw.yaml')).toBe(manifest)
    const { resources, configMapGenerator } = parse(read('kustomization.yaml'))
    for (const file of [...resources, ...configMapGenerator[0].files])
      expect(existsSync(new URL(file, folder))).toBe(true)
    const config = fileURLToPath(new URL('config', folder))
    expect(await gw(['validate', '-c', config], { cwd: ROOT })).toMatchObject({ exit: 0 })
  })

  it('kubernetes-postgres: pods may come and go, and the configuration is valid', async () => {
    const folder = new URL('kubernetes-postgres/', EXAMPLES)
    const read = (name: string) => readFileSync(new URL(name, folder), 'utf8')
    const documents = parseAllDocuments(read('gw.yaml')).map(document => document.toJS())
    expect(documents.map(({ kind }) => kind)).toEqual([
      'Deployment',
      'Service',
      'PodDisruptionBudget',
      'HorizontalPodAutoscaler',
    ])
    const [{ spec: deployment }, { spec: service }, { spec: budget }, { spec: autoscaler }] = documents
    const { metadata, spec: pod } = deployment.template
    const [container] = pod.containers
    // The autoscaler has the number of pods.
    expect(deployment).not.toHaveProperty('replicas')
    for (const labels of [deployment.selector.matchLabels, budget.selector.matchLabels, service.selector])
      expect(labels).toEqual(metadata.labels)
    const drainS = Number.parseInt(container.args.at(-1), 10)
    expect(container.args.at(-2)).toBe('--drain')
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(
      drainS + container.lifecycle.preStop.sleep.seconds,
    )
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
      expect(container).toHaveProperty(probe)
    const metrics = autoscaler.metrics.map(
      (metric: { pods?: { metric: { name: string } } }) => metric.pods?.metric.name,
    )
    expect(metrics).toContain('gw_requests_in_flight')
    const { resources, configMapGenerator } = parse(read('kustomization.yaml'))
    for (const file of [...resources, ...configMapGenerator[0].files])
      expect(existsSync(new URL(file, folder))).toBe(true)
    const config = fileURLToPath(new URL('config', folder))
    expect(await gw(['validate', '-c', config], { cwd: ROOT })).toMatchObject({ exit: 0 })
  })

  it('have a row each in their README', () => {
    const page = readFileSync(new URL('README.md', EXAMPLES), 'utf8')
    const named = [...page.matchAll(/^\| \[([\w-]+)\]/gm)].map(([, name]) => name)
    expect(new Set(named)).toEqual(new Set(folders))
  })
})
