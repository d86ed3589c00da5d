import { describe, expect, it } from 'vitest'
import { textWidth } from '../../../src/base/text-width.ts'
import { layout } from '../../../src/cli/screen/layout.ts'
import { panesOf } from '../../../src/cli/screen/panes.ts'
import { FIRST_STATE, type KeyPress, pressed, type TopState } from '../../../src/cli/screen/state.ts'
import { busyLiveStats } from './pulse.ts'

const liveStats = busyLiveStats()

function shown(state: TopState, columns: number, rows: number, of = liveStats): string {
  const lines = layout(of, state, { columns, rows }).map(spans => spans.map(({ text }) => text).join(''))
  for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(Math.max(20, columns))
  expect(lines).toHaveLength(Math.max(6, rows - 1))
  return `${lines.map(line => line.trimEnd()).join('\n')}\n`
}

function after(...keys: readonly (KeyPress['name'] | { readonly type: string })[]): TopState {
  const presses = keys.flatMap((key): readonly KeyPress[] => {
    if (typeof key === 'object') return key.type.split('').map(input => ({ input }))
    return key === undefined ? [] : [{ input: '', name: key }]
  })
  return presses.reduce((state, key) => pressed(state, key, panesOf(liveStats)), FIRST_STATE)
}

describe('the screen', () => {
  it.each([
    [80, 24],
    [120, 40],
    [50, 20],
  ])('at %i × %i', async (columns, rows) => {
    await expect(shown(FIRST_STATE, columns, rows)).toMatchFileSnapshot(`golden/${columns}x${rows}.txt`)
  })

  it('fits into terminals of any size', () => {
    const many = busyLiveStats({
      endpoints: Array.from({ length: 50 }, (_, at) => {
        return { ...liveStats.endpoints[0]!, name: `endpoint-${at}-with-a-long-name-${'文'.repeat(at)}` }
      }),
    })
    for (const columns of [1, 20, 40, 59, 60, 61, 200]) {
      for (const rows of [1, 6, 10, 17, 24, 60]) {
        for (const of of [
          liveStats,
          many,
          busyLiveStats({ endpoints: [], models: [], keys: [], gateways: [] }),
        ]) {
          shown(FIRST_STATE, columns, rows, of)
          shown(after('enter'), columns, rows, of)
        }
      }
    }
  })

  it('shows unhealthy endpoints first, also those that find no room by name', () => {
    const endpoints = Array.from({ length: 50 }, (_, at) => ({
      ...liveStats.endpoints[0]!,
      name: `e${String(at).padStart(2, '0')}`,
      state: at === 49 ? ('unhealthy' as const) : at === 48 ? ('unknown' as const) : ('healthy' as const),
    }))
    expect(shown(FIRST_STATE, 80, 24, busyLiveStats({ endpoints }))).toMatch(
      /ENDPOINT[^\n]*\n[> ] e49 [^\n]*\n[> ] e48 /,
    )
  })

  it('says how many endpoints have not answered yet, and what asks them', () => {
    expect(shown(FIRST_STATE, 80, 24, busyLiveStats({ unanswered: 12 }))).toContain(
      '12 endpoints have not answered yet: `gw probe` tests them.',
    )
  })

  it('says how many rows find no room', () => {
    const endpoints = Array.from({ length: 50 }, (_, at) => ({ ...liveStats.endpoints[0]!, name: `e${at}` }))
    expect(shown(FIRST_STATE, 80, 24, busyLiveStats({ endpoints }))).toMatch(/… \d+ more/)
  })

  it('shows nothing of a name that could steer the terminal', () => {
    const evil = busyLiveStats({ models: [{ ...liveStats.models[0]!, name: 'a\u001B[2Jb\u202Ec' }] })
    expect(shown(FIRST_STATE, 120, 40, evil)).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u)
  })

  it('says what would show more, and when no gateway serves', () => {
    const notes = ['No gateway serves this store: start one with `gw serve`.']
    expect(shown(FIRST_STATE, 80, 24, busyLiveStats({ gateways: [], notes }))).toMatch(
      /no gateway[\s\S]*start one with/,
    )
  })
})

describe('keys', () => {
  it('move through panes and rows; the chosen row stays chosen when rows move', () => {
    expect(shown(after('down'), 80, 24)).toContain('> azure-europe ')
    const state = after('down', { type: 's' })
    expect(state.chosen).toBe('azure-europe')
    expect(shown(after('tab'), 80, 24)).toContain('› MODEL')
    expect(shown(after('back-tab'), 80, 24)).toContain('› GATEWAY')
    expect(shown(after('tab', { type: 'j' }), 80, 24)).toContain('> openai/gpt-4o:l')
  })

  it('s sorts by one column after the other: texts from A, numbers from the largest', () => {
    const order = (state: TopState) =>
      [...shown(state, 80, 24).matchAll(/^[> ] (azure-europe|openai|spare) /gm)].map(([, name]) => name)
    expect(order(after({ type: 's' }))).toEqual(['openai', 'azure-europe', 'spare'])
    expect(shown(after({ type: 's' }), 80, 24)).toContain('REQ/S▾')
    expect(order(after({ type: 'ssssss' }))).toEqual(['azure-europe', 'openai', 'spare'])
    expect(shown(after({ type: 'ssssss' }), 80, 24)).toContain('ENDPOINT▾')
  })

  it('/ keeps names with a text in them, enter keeps the filter, esc takes it back', () => {
    const typing = after({ type: '/open' })
    expect(shown(typing, 80, 24)).toMatch(/filter endpoints: open/)
    expect(shown(typing, 80, 24)).not.toContain('azure-europe')
    expect(after({ type: '/qs' }).filter.endpoints).toBe('qs') // keys are letters while one types
    expect(after({ type: '/openx' }, 'backspace', 'enter')).toMatchObject({
      isTyping: false,
      filter: { endpoints: 'open' },
    })
    expect(after({ type: '/open' }, 'enter', 'escape').filter.endpoints).toBe('')
    expect(shown(after({ type: '/zzz' }), 80, 24)).toContain('no row matches')
  })

  it('enter opens the details of a row, esc goes back', async () => {
    await expect(shown(after('enter'), 80, 24)).toMatchFileSnapshot('golden/endpoint-opened.txt')
    expect(shown(after('tab', 'tab', 'enter'), 80, 24)).toContain('47.5 of 50 (95%)')
    expect(shown(after('back-tab', 'enter'), 80, 24)).toMatch(/behind the store[\s\S]*it is odd/)
    expect(shown(after('tab', 'tab', 'tab', 'enter'), 80, 24)).toContain('gw explain rate_limit_requests')
    expect(after('enter', 'escape').opened).toBeUndefined()
  })

  it('an opened row that goes away says so', () => {
    expect(shown(after('enter'), 80, 24, busyLiveStats({ endpoints: [] }))).toContain('No longer present.')
  })
})
