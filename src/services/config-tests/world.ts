import { type Clock, stoppedClock } from '../../base/clock.ts'
import type { ConfigTest } from '../../schema/config-test.ts'
import type { WhyContext } from '../why/context.ts'
import type { View } from '../why/decide.ts'
import { freshView } from '../why/from-files.ts'

/** The probe failure of an endpoint that a test declares down. */
const DOWN = {
  countsAsFailure: true,
  wasSent: false,
  hasAnswered: false,
  cooldownMs: undefined,
  reason: 'the test says so',
} as const

/**
 * The gateway state for a test: its time, and its endpoints that are down. Tests with the same state share one view.
 */
export class Worlds {
  readonly context: WhyContext
  readonly #clock: Clock
  readonly #views = new Map<string, View>()

  constructor(context: WhyContext, clock: Clock) {
    this.context = context
    this.#clock = clock
  }

  viewFor({ at, down = [] }: Pick<ConfigTest, 'at' | 'down'>): View {
    const id = JSON.stringify([at, down.toSorted()])
    const known = this.#views.get(id)
    if (known) return known
    const { snapshot } = this.context.view
    const view = freshView(snapshot, stoppedClock(at ?? this.#clock.nowMs()))
    for (const name of down) {
      const endpoint = snapshot.endpoints.get(name)
      if (!endpoint) continue
      const state = view.health.of(endpoint)
      for (let failures = 0; failures < snapshot.health.unhealthyAfter; failures++) state.failed(DOWN, '')
    }
    this.#views.set(id, view)
    return view
  }
}
