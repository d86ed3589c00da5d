import { expect, onTestFinished, test } from 'vitest'
import { json } from '../support/answers.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT } from './calls.ts'

/** The long form is `npm run soak`. */
const ROUNDS = Number(process.env['GW_ROUNDS'] ?? 4)
const CLIENTS = 500
const COVERED = 40
/** As large as the hold, so that what is spent takes the place of what was held, exactly. */
const BODY = JSON.stringify({ model: 'm', max_tokens: 100 })
const INPUT_TOKENS = Math.ceil(BODY.length / 3)
const NEEDED_TOKENS = INPUT_TOKENS + 100
const NEEDED_NANO = NEEDED_TOKENS * 1_000

test(`${CLIENTS} at once, ${ROUNDS} rounds: exactly as many reach the upstream as the limit covers, and it is never passed`, async () => {
  const upstream = await scriptedUpstream(onTestFinished)
  const keys = Array.from({ length: ROUNDS }, (_, round) => `round-${round}`)
  const strict = [
    `quota: ${COVERED * NEEDED_TOKENS + NEEDED_TOKENS - 1}`,
    `budget: { amount: "${(COVERED * NEEDED_NANO) / 1e9}", per: day }`,
  ]
  const gateway = await testGateway(
    onTestFinished,
    `
version: 1
endpoints: { oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served } }
publications: { m: { price: { input: "1", output: "1" }, bindings: [{ endpoint: oai }] } }
keys: { ${keys.map((key, round) => `${key}: { kind: platform, ${strict[round % 2]} }`).join(', ')} }
`,
  )

  for (const key of keys) {
    const entry = gateway.entryOf(key)
    const passes: object[] = []
    /** At every event: each hold, each end, each head at the upstream, each answer at a client. */
    const sample = (): void => {
      const { quota, budget } = gateway.limiter.limitStatus(entry)
      if (quota && quota.spent + quota.held > quota.limit) passes.push(quota)
      if (budget && budget.spentNano + budget.heldNano > budget.limitNano) passes.push(budget)
    }
    gateway.ledger.beforeOpen = async () => sample()
    gateway.ledger.beforeEnd = async () => sample()
    upstream.forget()
    upstream.answer(async exchange => {
      sample()
      await json({ usage: { prompt_tokens: INPUT_TOKENS, completion_tokens: 100 } })(exchange)
      sample()
    })
    const statuses = await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        const answer = await fetch(gateway.url + CHAT, {
          method: 'POST',
          headers: { authorization: `Bearer ${gateway.secretOf(key)}` },
          body: BODY,
        })
        sample()
        await answer.text()
        return answer.status
      }),
    )
    expect(passes).toEqual([])
    expect(upstream.requests).toHaveLength(COVERED)
    expect(statuses.filter(status => status === 200)).toHaveLength(COVERED)
    expect(statuses.filter(status => status === 429)).toHaveLength(CLIENTS - COVERED)
    const { quota, budget } = gateway.limiter.limitStatus(entry)
    if (quota) expect(quota).toMatchObject({ spent: COVERED * NEEDED_TOKENS, held: 0 })
    else expect(budget).toMatchObject({ spentNano: BigInt(COVERED * NEEDED_NANO), heldNano: 0n })
  }
}, 120_000)
