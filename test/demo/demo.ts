import { onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { type DemoUpstream, startDemoUpstream } from '../../src/demo/server.ts'

/** A demo upstream that lives as long as the test. */
export async function demoUpstream(clock: Clock = systemClock, paceMs = 0): Promise<DemoUpstream> {
  const demo = await startDemoUpstream({ host: '127.0.0.1', port: 0, paceMs, clock, random: systemRandom })
  onTestFinished(() => demo.close())
  return demo
}

/** Posts a body, an object as JSON or a text as it is, with the headers of neither vendor. */
export function post(demo: DemoUpstream, path: string, body: unknown): Promise<Response> {
  return fetch(demo.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/** The `data:` of each event of a stream, parsed where it is JSON, with the `event:` line where there is one. */
export async function eventsOf(answer: Response): Promise<{ event?: string; data: unknown }[]> {
  const text = await answer.text()
  return text
    .split('\n\n')
    .slice(0, -1)
    .map(block => {
      const event = /^event: (.*)$/m.exec(block)?.[1]
      const data = /^data: (.*)$/m.exec(block)?.[1] ?? ''
      return { ...(event && { event }), data: data.startsWith('{') ? (JSON.parse(data) as unknown) : data }
    })
}
