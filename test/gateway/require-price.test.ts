import { describe, expect, onTestFinished, test } from 'vitest'
import { load } from '../../src/config/load.ts'
import { json } from '../support/answers.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'

function configuration(url: string, settings: string): string {
  return `
version: 1
settings: { ${settings} }
endpoints:
  oai: { protocol: openai, base_url: "${url}/v1", served_model: m }
publications:
  priced: { price: { input: "1" }, bindings: [{ endpoint: oai }] }
  free: { price: { input: "0" }, bindings: [{ endpoint: oai }] }
  ranked: { price: { per_search_unit: "1" }, bindings: [{ endpoint: oai }] }
  forgotten: { bindings: [{ endpoint: oai }] }
  tomorrow: { price: [{ from: 2999-01-01, input: "1" }], bindings: [{ endpoint: oai }] }
keys:
  admin: { kind: platform }
`
}

async function scene(settings: string) {
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(json({ object: 'chat.completion', model: 'm', choices: [], usage: { prompt_tokens: 1 } }))
  const gateway = await testGateway(onTestFinished, configuration(upstream.url, settings))
  const headers = { authorization: `Bearer ${gateway.secretOf('admin')}`, 'content-type': 'application/json' }
  const call = async (model: string) => {
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] })
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })
    return [answer.status, ((await answer.json()) as { error?: { code?: string } }).error?.code]
  }
  const list = async () => {
    const answer = await fetch(`${gateway.url}/v1/models`, { headers })
    return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
  }
  return { upstream, gateway, call, list }
}

describe('settings.require_price', () => {
  test('rejects calls of models without a price in force: nothing is sent, held or listed', async () => {
    const { upstream, gateway, call, list } = await scene('require_price: true')
    expect(await call('forgotten')).toEqual([403, 'model_not_priced'])
    expect(await call('tomorrow')).toEqual([403, 'model_not_priced'])
    expect(await call('ranked')).toEqual([403, 'model_not_priced'])
    expect(upstream.requests).toEqual([])
    expect(gateway.ledger.holds).toEqual([])
    expect(await list()).toEqual(['free', 'priced', 'ranked', 'tomorrow'])
    expect(await call('priced')).toEqual([200, undefined])
    expect(await call('free')).toEqual([200, undefined])
  })

  test('is off by default: what has no price is served free', async () => {
    const { call, list, gateway } = await scene('')
    expect(await call('forgotten')).toEqual([200, undefined])
    expect(await call('ranked')).toEqual([200, undefined])
    expect(await call('free')).toEqual([200, undefined])
    const isUnpriced = gateway.ledger.ends.map(end => end.kind === 'settle' && end.flags.includes('unpriced'))
    expect(isUnpriced).toEqual([true, true, false])
    expect(await list()).toContain('forgotten')
  })

  test('is reported by validate at the line of each publication that it would reject', async () => {
    const warnings = async (settings: string) => {
      const readStdin = async () => Buffer.from(configuration('http://127.0.0.1:1', settings))
      const loaded = await load(['-'], { environment: {}, known: new Set(), readStdin })
      return loaded.problems.map(({ code, place }) => [code, place.line])
    }
    expect(await warnings('require_price: true')).toEqual([['listed_without_price', 10]])
    expect(await warnings('')).toEqual([])
  })
})
