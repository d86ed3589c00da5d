import { expect, test } from 'vitest'
import { mergeMetrics } from '../../src/metering/metrics/merge.ts'

const TEXT = (value: number) => `# HELP gw_a What a is.
# TYPE gw_a counter
gw_a{path="/v1 {x}"} ${value}
# HELP gw_b What b is.
# TYPE gw_b gauge
gw_b ${value}
`

test('the metrics of several workers are one text: each family once, each sample with its worker', () => {
  const merged = mergeMetrics([
    { worker: '0', text: TEXT(1) },
    { worker: '1', text: TEXT(2) },
    { worker: '2', text: '' },
  ])
  expect(merged).toBe(`# HELP gw_a What a is.
# TYPE gw_a counter
gw_a{worker="0",path="/v1 {x}"} 1
gw_a{worker="1",path="/v1 {x}"} 2
# HELP gw_b What b is.
# TYPE gw_b gauge
gw_b{worker="0"} 1
gw_b{worker="1"} 2
`)
})
