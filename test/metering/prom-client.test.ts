import * as whole from 'prom-client'
import { expect, test } from 'vitest'
import * as parts from '../../src/metering/metrics/prom-client.ts'

test('the parts that are loaded are those that the package gives out', () => {
  const { Counter, Gauge, Histogram, Registry } = whole
  expect({ ...parts }).toEqual({ Counter, Gauge, Histogram, Registry })
  expect(parts.Counter).toBe(Counter)
})
