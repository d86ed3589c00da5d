import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { interpolate, plainValue } from '../../src/config/interpolate.ts'

const filled = (text: string, environment: Record<string, string> = {}) => {
  const result = interpolate(text, environment)
  return result.ok ? result.text : result.faults.map(({ code }) => code)
}

describe('interpolate', () => {
  it('gives back any text whose dollars are doubled', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        expect(filled(text.replaceAll('$', '$$$$'))).toBe(text)
      }),
    )
  })

  it('puts in the value of a variable as it is, whatever it holds', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 1 }),
        fc.stringMatching(/^[^$]*$/),
        (value, around) => {
          const text = `${around}\${GW_X}${around}\${GW_X:-other}`
          expect(filled(text, { GW_X: value })).toBe(`${around}${value}${around}${value}`)
        },
      ),
    )
  })

  it('takes the default for what is unset or empty, as a shell does', () => {
    expect(filled('${GW_X:-a:-b}')).toBe('a:-b')
    expect(filled('${GW_X:-a}', { GW_X: '' })).toBe('a')
    expect(filled('${GW_X}', { GW_X: '' })).toBe('')
  })

  it('leaves a dollar alone that begins nothing', () => {
    expect(filled('$ $5 US$ $GW_X')).toBe('$ $5 US$ $GW_X')
  })

  it('names each kind of mistake', () => {
    expect(filled('${GW_A} ${PATH} ${GW_ } ${GW_B:-${GW_C}} ${')).toEqual([
      'variable_not_set',
      'variable_not_allowed',
      'malformed_interpolation',
      'malformed_interpolation',
      'malformed_interpolation',
    ])
    expect(filled('${toString} ${GW_X')).toEqual(['variable_not_allowed', 'malformed_interpolation'])
  })
})

describe('plainValue', () => {
  it('reads a plain scalar as the YAML library does', () => {
    const scalar = fc.oneof(
      fc.constantFrom(
        '',
        '~',
        'null',
        'Null',
        'nULL',
        'true',
        'TRUE',
        'tRue',
        'no',
        'yes',
        '.inf',
        '-.INF',
        '.nan',
      ),
      fc.stringMatching(/^[-+]?[0-9.eExXoOa-f]{1,6}$/),
      fc.stringMatching(/^[-+]?[0-9]{1,4}(\.[0-9]{0,3})?([eE][-+]?[0-9]{1,2})?$/),
    )
    fc.assert(
      fc.property(scalar, text => {
        expect(plainValue(text)).toEqual(parse(`[${text === '' ? '~' : text}]`)[0])
      }),
      { numRuns: 2_000 },
    )
  })
})
