/**
 * What `npm run clients:python` runs after the build: real Python clients, each call made twice, straight to a vendor
 * and through a real gateway.
 *
 *     clients.py ──┬───────────────────▶ vendor (test/clients/vendor.ts, on a raw socket)
 *                  └──▶ gw serve ──────▶   │
 *                                          └──▶ what it received is compared
 *
 * Each pair must look alike from both sides: the vendor receives the same body but for the specified edits, and the
 * same headers; the client gets the same objects, and for an error the same exception with the same status. The bill
 * must be the vendor's usage. And the straight calls must be what test/clients/recorded/ says of these clients.
 *
 *     node scripts/clients-python.mjs [--record]
 *
 * `--record` writes those recordings anew, for newer pins in scripts/clients-python/requirements-*.txt. It needs
 * Python 3.11 (PYTHON names another than python3) with venv, and PyPI when the pins are new; if one is missing, it
 * says so and fails. The last line is the plain count, and the exit code is 1 if a check failed. With GW_REPORTS the
 * count is a file in that folder as well, which CI adds to its own.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { recordedCalls, writeRecording } from '../test/clients/recorded-calls.ts'
import { endToEnd } from '../test/clients/request-headers.ts'
import { vendorAnswer } from '../test/clients/vendor.ts'
import { editedBody } from '../test/gateway/edits-oracle.ts'
import { environment, Failure } from './clients-python/environments.mjs'
import { costNano, SERVED, Servers, STRAIGHT_KEY, TENANT } from './clients-python/servers.mjs'

const CLIENTS_PY = fileURLToPath(new URL('clients-python/clients.py', import.meta.url))

/** For each environment its clients, and the file of each one's recordings. */
const ENVIRONMENTS = {
  'openai-2': {
    openai: 'openai-python-2',
    anthropic: 'anthropic-python-2',
    'langchain-openai': 'langchain-python-openai-2',
    litellm: 'litellm-1',
  },
  'openai-3': { openai: 'openai-python-3', 'langchain-openai': 'langchain-python-openai-3' },
}

const NO_TOKENS = { input_tokens: 0, cached_input_tokens: 0, cache_write_tokens: 0, output_tokens: 0 }

const { values: options } = parseArgs({ options: { record: { type: 'boolean', default: false } } })
const counts = { passed: 0, failed: 0 }
const servers = new Servers()
try {
  await main()
} catch (error) {
  fail(error)
}
try {
  await servers.end()
} catch (error) {
  fail(error)
}
const { GW_REPORTS: reports } = process.env
if (reports) {
  const report = { numPassedTests: counts.passed, numFailedTests: counts.failed, testResults: [] }
  await writeFile(join(reports, 'clients-python.json'), JSON.stringify(report))
}
console.log(`${counts.passed} passed, ${counts.failed} failed`)
if (counts.failed > 0) process.exitCode = 1

function fail(error) {
  counts.failed++
  console.error(error instanceof Failure ? error.message : error)
}

async function main() {
  const names = Object.keys(ENVIRONMENTS)
  const pythons = await Promise.all(names.map(environment))
  await servers.start()
  const pairs = []
  for (const [at, name] of names.entries()) pairs.push(...(await callAll(pythons[at], ENVIRONMENTS[name])))
  await servers.endGateway()
  if (options.record) return record(pairs)
  const bills = new Map(pairs.filter(({ usage }) => usage).map((pair, at) => [pair, at]))
  const logged = (await servers.gw('logs', '--status', '2xx', '--limit', '10000', '--format', 'json'))
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  const recorded = recordedCalls()
  for (const pair of pairs) comparePair(pair, logged[bills.get(pair)], recorded)
  await compareTotals([...bills.keys()], logged)
}

/** Runs the clients of one environment, and gives each case with what the vendor received for it. */
async function callAll(python, clients) {
  const child = spawn(python, [CLIENTS_PY, ...Object.keys(clients)], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(servers.scene))
  const cases = []
  const closed = once(child, 'close')
  for await (const line of createInterface(child.stdout)) cases.push(JSON.parse(line))
  const [code] = await closed
  if (code !== 0) throw new Error(`clients.py ended with ${code}`)
  // Both sides see the cases in their order; of a call that the gateway rejects the vendor sees nothing.
  const { straight, through } = servers.takeReceived()
  const pairs = cases.map(({ client, case: title, given }) => {
    const isRejected = title.startsWith('error ') && !title.startsWith('error 400')
    const sent = straight.shift()
    const arrived = isRejected ? undefined : through.shift()
    const answer = title.startsWith('error ') ? {} : vendorAnswer(sent.target, sent.text())
    const usage = answer.characters > 0 ? NO_TOKENS : answer.usage
    return { client: clients[client], title, given, sent, arrived, usage, characters: answer.characters }
  })
  if (straight.length + through.length > 0) throw new Error('more requests came than calls were made')
  return pairs
}

function comparePair({ client, title, given, sent, arrived, usage, characters }, logged, recorded) {
  const [straight, through] = given
  const check = (promise, actual, expected) => compare(`${client} · ${title}: ${promise}`, actual, expected)
  if (title.startsWith('error ')) {
    const { class: name, status } = straight.error ?? {}
    const raised = { class: through.error?.class, status: through.error?.status }
    return check(`raises ${name} with status ${status}, as the vendor's own does`, raised, {
      class: name,
      status: Number(/^error (\d+)/.exec(title)[1]),
    })
  }
  const path = sent.path.endsWith('/completions') ? 'chat' : 'other'
  const isForm = boundaryOf(sent) !== undefined
  check(
    'the body arrives with exactly the specified edits',
    isForm ? withoutBoundary(arrived) : arrived.text(),
    isForm ? editedForm(sent) : editedBody(sent.text(), SERVED, path),
  )
  check('the headers arrive as they were', headersOf(arrived), headersOf(sent))
  check('the client gets the same objects', through.value ?? through, straight.value ?? 'an answer')
  if (usage)
    check('the bill is the usage of the vendor', billedOf(logged), {
      ...usage,
      costNano: costNano(usage, characters),
    })
  if (isForm) return // it has another boundary each time
  const row = recorded.find(call => call.client === client && call.title === title)
  check(
    'test/clients/recorded has this request',
    row && comparable(row),
    comparable(asRecorded(title, client, sent)),
  )
}

function headersOf(request) {
  const boundary = boundaryOf(request)
  const lines = endToEnd(request.headerLines)
  return boundary ? lines.map(line => line.replace(boundary, 'BOUNDARY')) : lines
}

function boundaryOf(request) {
  return /boundary=([^;]+)/.exec(request.header('content-type') ?? '')?.[1]
}

function withoutBoundary(request) {
  return request.body.toString('latin1').replaceAll(boundaryOf(request), 'BOUNDARY')
}

function editedForm(sent) {
  return withoutBoundary(sent).replace(/(name="model"\r\n\r\n)[^\r]*/, `$1${SERVED}`)
}

function billedOf(logged) {
  if (logged === undefined) return 'no line in the call log'
  const { input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, cost, flags } = logged
  const nano = Math.round(Number(cost) * 1e9)
  const billed = { input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, costNano: nano }
  return flags?.length > 0 ? { ...billed, flags } : billed
}

/** What `gw usage` adds up must be what the vendor reported for all calls together. */
async function compareTotals(pairs, logged) {
  compare('gw logs: a line for each call that was answered, and no other', logged.length, pairs.length)
  const { data } = JSON.parse(await servers.gw('usage', '--by', 'tenant', '--format', 'json'))
  const sum = read => pairs.reduce((total, { usage }) => total + read(usage), 0)
  const row = data.find(({ label }) => label === TENANT)
  compare(
    'gw usage: the tokens that the vendor reported',
    [row?.input_tokens, row?.output_tokens],
    [sum(usage => usage.input_tokens), sum(usage => usage.output_tokens)],
  )
}

function compare(promise, actual, expected) {
  const holds = isDeepStrictEqual(actual, expected)
  counts[holds ? 'passed' : 'failed']++
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${promise}`)
  if (!holds) console.log(`     expected ${show(expected)}\n     got      ${show(actual)}`)
}

function show(value) {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A request in the form of the recordings. */
function asRecorded(title, client, { target, headerLines, body }) {
  const filled = headerLines.map(([name, value]) => {
    if (name.toLowerCase() === 'host') return [name, '{{host}}']
    return [name, value.replace(STRAIGHT_KEY, '{{key}}')]
  })
  return { client, title, target, headerLines: filled, body: body.toString() }
}

/** Without what names the machine that it was recorded on. */
function comparable({ target, headerLines, body }) {
  const machine = /^x-stainless-(?:os|arch|runtime|runtime-version)$/i
  return {
    target,
    headerLines: headerLines.map(([name, value]) => [name, machine.test(name) ? '' : value]),
    body,
  }
}

function record(pairs) {
  for (const client of new Set(pairs.map(pair => pair.client))) {
    const calls = pairs.filter(
      ({ client: of, title, sent }) => of === client && !title.startsWith('error ') && !boundaryOf(sent),
    )
    writeRecording(
      client,
      calls.map(({ title, sent }) => asRecorded(title, client, sent)),
    )
    console.log(`wrote test/clients/recorded/${client}.http`)
  }
}
