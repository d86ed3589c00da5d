import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { gw } from '../cli/in-process.ts'
import { json } from '../support/answers.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { tempDir } from '../support/temp-dir.ts'
import { wholeGateway } from '../support/whole-gateway.ts'

const upstream = await scriptedUpstream(afterAll)
upstream.answer(
  json({
    id: 'x',
    object: 'chat.completion',
    model: 'served',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
  }),
)

/** Of `{"model":"m","messages":[{"role":"user","content":"Hello!"}]}`: 62 bytes. */
const INPUT_TOKENS = 21
const NEEDED = INPUT_TOKENS + 16_384

interface Case {
  readonly key: string
  readonly model?: string
  readonly isRejected: boolean
}

/** One token less than needed, the tokens needed, and what `output_cap` makes of it: 256 tokens of output at least. */
const CASES: Readonly<Record<string, Case>> = {
  'a quota of one token less': { key: `quota: ${NEEDED - 1}`, isRejected: true },
  'a quota of just as much': { key: `quota: ${NEEDED}`, isRejected: false },
  'a quota of one token less, in shadow mode': {
    key: `quota: { tokens: ${NEEDED - 1}, mode: shadow }`,
    isRejected: false,
  },
  'a quota below the least answer, with output_cap': {
    key: `quota: ${INPUT_TOKENS + 255}`,
    model: 'output_cap: max_tokens',
    isRejected: true,
  },
  'a quota of the least answer, with output_cap': {
    key: `quota: ${INPUT_TOKENS + 256}`,
    model: 'output_cap: max_tokens',
    isRejected: false,
  },
  'a budget below the reservation': {
    key: 'budget: { amount: "0.016404", per: month }',
    model: 'price: { input: 1, output: 1 }',
    isRejected: true,
  },
  'a budget of the reservation': {
    key: 'budget: { amount: "0.016405", per: month }',
    model: 'price: { input: 1, output: 1 }',
    isRejected: false,
  },
}

function configuration({ key, model }: Case, tenant = ''): string {
  return `version: 1
endpoints: { a: { protocol: openai, base_url: "${upstream.url}", served_model: served, skip_probe: true } }
publications: { m: { max_output_tokens: 16384, bindings: [{ endpoint: a }]${model ? `, ${model}` : ''} } }
${tenant}keys: { app: { ${tenant === '' ? 'kind: platform' : 'kind: tenant, tenant: t'}${key && `, ${key}`} } }
`
}

describe('a first "Hello!" with a fresh key', () => {
  it.each(Object.entries(CASES))(
    'is rejected as validate and keys issue warn: %s',
    { timeout: 60_000 },
    async (_, each) => {
      const dir = tempDir(onTestFinished)
      const file = dir.write('gw.yaml', configuration(each))
      const validated = await gw(['validate', '--format', 'json'], { cwd: dir.path })
      expect(validated.exit).toBe(0)
      const codes = JSON.parse(validated.stdout).problems.map(({ code }: { code: string }) => code)
      expect(codes).toEqual(each.isRejected ? ['GW1311'] : [])

      const gateway = await wholeGateway(onTestFinished, file)
      const known = gateway.reloaded()
      const issued = await gw(['keys', 'issue', 'app', '--store', gateway.store], { cwd: dir.path })
      await known
      expect(issued.stderr.includes('"Hello!" to m without `max_tokens` would be rejected')).toBe(
        each.isRejected,
      )

      const answer = await fetch(`${gateway.gatewayUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${issued.stdout.trim()}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello!' }] }),
      })
      expect(answer.status).toBe(each.isRejected ? 429 : 200)
      if (each.isRejected) {
        const { error } = (await answer.json()) as { error: { message: string } }
        expect(issued.stderr).toContain(error.message)
      }
    },
  )

  it('of a prepaid tenant is rejected as keys issue warns, until there is a balance', async () => {
    const dir = tempDir(onTestFinished)
    const tenant = 'tenants: { t: { billing: prepaid } }\n'
    dir.write(
      'gw.yaml',
      configuration({ key: '', model: 'price: { input: 1, output: 1 }', isRejected: true }, tenant),
    )
    const run = (line: string) => gw(line.split(' '), { cwd: dir.path })
    await run('apply --yes')
    expect((await run('validate')).stdout).not.toContain('GW1311')
    expect((await run('keys issue app')).stderr).toContain('The prepaid balance of tenant `t`')
    await run('wallet credit t 1 --reference first')
    await run('keys revoke app --yes')
    expect((await run('keys issue app')).stderr).not.toContain('would be rejected')
  })
})
