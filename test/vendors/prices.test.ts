import { describe, expect, test } from 'vitest'
import { listedPrice, PRICE_LIST, PRICE_PAGES, PRICES_AS_OF } from '../../src/config/vendors/prices.ts'
import { VENDORS } from '../../src/config/vendors/table.ts'
import { effectivePrice, price, pricesOf } from '../../src/schema/price.ts'

describe('the price list', () => {
  test('is dated, and names the page of each vendor that it lists', () => {
    expect(PRICES_AS_OF).toMatch(/^20\d\d-\d\d-\d\d$/)
    const accounts = new Set([...VENDORS.values()].map(({ account }) => account))
    for (const { account } of PRICE_LIST) {
      expect(accounts).toContain(account)
      expect(new URL(PRICE_PAGES[account] ?? '').protocol).toBe('https:')
    }
    expect(new Set(Object.keys(PRICE_PAGES))).toEqual(new Set(PRICE_LIST.map(({ account }) => account)))
  })

  test('has each model once', () => {
    const names = PRICE_LIST.map(({ account, model }) => `${account} ${model}`)
    expect(new Set(names).size).toBe(names.length)
    expect(names.length).toBeGreaterThan(40)
  })

  test.each(PRICE_LIST.map(row => [`${row.account} ${row.model}`, row] as const))(
    '%s has a price that a publication takes: output not below input, cached input not above it',
    (_name, row) => {
      const [terms] = pricesOf(price.parse(row.price))
      if (terms === undefined) throw new Error('no price')
      const { inputNanoPerMtok, outputNanoPerMtok, cachedInputNanoPerMtok, cacheWriteNanoPerMtok } =
        effectivePrice(terms.terms)
      expect(inputNanoPerMtok).toBeGreaterThan(0n)
      // Embeddings and reranking have no output.
      if (outputNanoPerMtok > 0n) expect(outputNanoPerMtok).toBeGreaterThanOrEqual(inputNanoPerMtok)
      expect(cachedInputNanoPerMtok).toBeLessThanOrEqual(inputNanoPerMtok)
      expect(cacheWriteNanoPerMtok).toBeGreaterThanOrEqual(inputNanoPerMtok)
      // A price per token instead of per million would be thousands of times off.
      expect(inputNanoPerMtok).toBeLessThan(200_000_000_000n)
      expect(inputNanoPerMtok).toBeGreaterThan(1_000_000n)
    },
  )

  test('is looked up by the exact name, at the account that serves it', () => {
    expect(listedPrice('openai', 'gpt-4o-mini')?.price).toEqual({
      input: '0.15',
      output: '0.60',
      cached_input: '0.075',
    })
    expect(listedPrice('openai', 'gpt-4o-mini-2024-07-18')).toBe(undefined)
    expect(listedPrice('azure', 'gpt-4o-mini')).toBe(undefined)
  })
})
