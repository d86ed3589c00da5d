import { expect, test } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import type { ToWorker } from '../../src/server/supervisor/messages.ts'
import {
  Supervisor,
  type WorkerEnd,
  WorkerFailed,
  type WorkerProcess,
} from '../../src/server/supervisor/supervisor.ts'
import { testClock } from '../support/test-clock.ts'

/** Workers that serve and end when the test says so. */
function scene(count: number) {
  const clock = testClock()
  const lines: string[] = []
  const log = createLog({ write: line => lines.push(line) }, { level: 'info', pretty: false, colour: false })
  const workers: ReturnType<typeof fake>[] = []
  const fake = (pid: number) => {
    const sent: ToWorker[] = []
    const serving = Promise.withResolvers<Awaited<WorkerProcess['serving']>>()
    const ended = Promise.withResolvers<WorkerEnd>()
    return {
      pid,
      sent,
      serving: serving.promise,
      ended: ended.promise,
      isKilled: false,
      send: (message: ToWorker) => void sent.push(message),
      kill() {
        this.isKilled = true
        ended.resolve({ code: null, signal: 'SIGKILL' })
      },
      serve: () =>
        serving.resolve({
          is: 'serving',
          url: 'http://shared',
          peer: { name: String(pid), url: `http://${pid}` },
          revision: 1,
        }),
      end: (code: number) => ended.resolve({ code, signal: null }),
      fail: (fault: string) => ended.resolve({ code: null, signal: null, fault }),
      get isDraining() {
        return sent.some(({ is }) => is === 'drain')
      },
    }
  }
  const supervisor = new Supervisor(count, {
    clock,
    log,
    fork: () => {
      const worker = fake(workers.length + 1)
      workers.push(worker)
      return worker
    },
  })
  return { clock, lines, workers, supervisor }
}

/** The same, all of them serving. */
async function serving(count: number) {
  const made = scene(count)
  const started = made.supervisor.start()
  for (const worker of made.workers) worker.serve()
  await started
  return made
}

const settled = () => new Promise<void>(resolve => setImmediate(resolve))

test('starts all workers, and each of them knows the others', async () => {
  const { supervisor, workers } = scene(2)
  const started = supervisor.start()
  expect(supervisor.missing).toBe(2)
  for (const worker of workers) worker.serve()
  expect(await started).toMatchObject({ url: 'http://shared', revision: 1 })
  expect([supervisor.pids, supervisor.missing]).toEqual([[1, 2], 0])
  const peers = [
    { name: '1', url: 'http://1' },
    { name: '2', url: 'http://2' },
  ]
  for (const { sent } of workers)
    expect(sent.at(-1)).toEqual({ is: 'workers', peers, wanted: 2, reasons: [] })
  const reasons = ['files_rejected: gw.yaml:3']
  for (let times = 0; times < 2; times++) supervisor.report(reasons)
  for (const { sent } of workers) {
    expect(sent.filter(message => message.is === 'workers' && message.reasons.length > 0)).toEqual([
      { is: 'workers', peers, wanted: 2, reasons },
    ])
  }
})

test('a worker that cannot start ends all, with its exit code', async () => {
  const { supervisor, workers } = scene(2)
  const started = supervisor.start()
  workers[0]?.serve()
  workers[1]?.end(4)
  await settled()
  workers[0]?.end(0)
  await expect(started).rejects.toEqual(new WorkerFailed({ code: 4, signal: null }))
  expect(workers[0]?.isDraining).toBe(true)
})

test('a worker that ends is replaced, later each time if it ends soon', async () => {
  const { supervisor, workers, clock, lines } = await serving(1)
  for (const pauseMs of [100, 200, 400]) {
    workers.at(-1)?.end(1)
    await settled()
    const count = workers.length
    expect(supervisor.missing).toBe(1)
    clock.advance(pauseMs - 1)
    await settled()
    expect(workers.length).toBe(count)
    clock.advance(1)
    await settled()
    expect(workers.length).toBe(count + 1)
    workers.at(-1)?.serve()
    await settled()
    expect(supervisor.missing).toBe(0)
  }
  expect(lines.filter(line => line.includes('another one takes its place'))).toHaveLength(3)
})

test('while no worker serves, the next one starts within a second, however often they ended', async () => {
  const { workers, clock } = await serving(1)
  for (let times = 0; times < 8; times++) {
    workers.at(-1)?.end(1)
    await settled()
    clock.advance(1_000)
    await settled()
    expect(workers.length).toBe(times + 2)
    workers.at(-1)?.serve()
    await settled()
  }
})

test('a restart of one that is closed says nothing of workers that were replaced', async () => {
  const { supervisor, workers, lines } = await serving(1)
  const closed = supervisor.close(1_000)
  workers[0]?.end(0)
  await Promise.all([supervisor.restart(), closed])
  expect(lines).toEqual([])
})

test('a restart drains a worker only when another one serves, one after the other', async () => {
  const { supervisor, workers } = await serving(2)
  const restarted = supervisor.restart()
  await settled()
  expect([workers.length, workers[0]?.isDraining]).toEqual([3, false])
  workers[2]?.serve()
  await settled()
  expect([workers.length, workers[0]?.isDraining, workers[1]?.isDraining]).toEqual([4, true, false])
  expect(supervisor.missing).toBe(0)
  workers[3]?.serve()
  await restarted
  expect(workers[1]?.isDraining).toBe(true)
  // A worker that drains is not replaced when it ends.
  workers[0]?.end(0)
  await settled()
  expect(workers).toHaveLength(4)
})

test('a restart goes on with a worker that starts at another attempt', async () => {
  const { supervisor, workers, clock } = await serving(1)
  const restarted = supervisor.restart()
  for (const pauseMs of [100, 200, 400]) {
    await settled()
    const count = workers.length
    workers.at(-1)?.end(5)
    await settled()
    clock.advance(pauseMs - 1)
    await settled()
    expect(workers.length).toBe(count)
    clock.advance(1)
    await settled()
    expect(workers.length).toBe(count + 1)
  }
  expect(workers[0]?.isDraining).toBe(false)
  workers.at(-1)?.serve()
  await restarted
  expect(workers[0]?.isDraining).toBe(true)
  expect(workers).toHaveLength(5)
})

test('a worker that ends in a restart is replaced once, before its turn and at it', async () => {
  const { supervisor, workers, clock } = await serving(3)
  const restarted = supervisor.restart()
  await settled()
  // The first, while its replacement starts.
  workers[0]?.end(1)
  await settled()
  clock.advance(100)
  await settled()
  expect(workers).toHaveLength(4)
  // The last, before its turn.
  workers[2]?.end(1)
  await settled()
  clock.advance(200)
  await settled()
  expect(workers).toHaveLength(5)
  for (const index of [3, 4, 5]) {
    workers[index]?.serve()
    await settled()
  }
  await restarted
  expect([supervisor.pids, workers.length]).toEqual([[4, 5, 6], 6])
  expect(workers.map(({ isDraining }) => isDraining).indexOf(true)).toBe(0)
  workers[1]?.end(0)
  await settled()
  expect([supervisor.pids, supervisor.missing]).toEqual([[4, 5, 6], 0])
})

test('a worker that ends while two serve for one place is replaced before the restart is over', async () => {
  const { supervisor, workers, clock, lines } = await serving(3)
  const restarted = supervisor.restart()
  await settled()
  workers[3]?.serve()
  await settled()
  // The replacement of the first, while that of the second starts.
  workers[3]?.end(1)
  await settled()
  clock.advance(100)
  await settled()
  for (const index of [4, 5, 6]) {
    expect(lines.at(-1)).not.toContain('all workers were replaced')
    workers[index]?.serve()
    await settled()
  }
  await restarted
  expect([supervisor.pids, supervisor.missing, workers.length]).toEqual([[5, 6, 7], 0, 7])
})

test('all workers that end at once are replaced', async () => {
  const { supervisor, workers, clock } = await serving(3)
  for (const worker of workers) worker.end(1)
  await settled()
  clock.advance(10_000)
  await settled()
  for (let at = 3; at < workers.length; at++) {
    workers[at]?.serve()
    await settled()
  }
  expect([supervisor.missing, workers.length]).toEqual([0, 6])
})

test('a worker whose process cannot be started fails a restart, and nothing else', async () => {
  const { supervisor, workers, clock, lines } = await serving(1)
  const restarted = supervisor.restart()
  for (let attempt = 1; attempt <= 4; attempt++) {
    await settled()
    workers[attempt]?.fail('spawn node ENOENT')
    await settled()
    clock.advance(400)
  }
  await restarted
  expect(lines.at(-1)).toContain('a worker ended before it served: spawn node ENOENT')
  expect([supervisor.pids, supervisor.missing]).toEqual([[1], 0])
})

test('a worker that ends in a restart that fails is replaced afterwards', async () => {
  const { supervisor, workers, clock, lines } = await serving(1)
  const restarted = supervisor.restart()
  await settled()
  workers[0]?.end(1)
  await settled()
  clock.advance(100)
  for (let attempt = 1; attempt <= 4; attempt++) {
    await settled()
    expect(workers).toHaveLength(1 + attempt)
    workers[attempt]?.end(5)
    await settled()
    if (attempt < 4) clock.advance(400)
  }
  await restarted
  expect(lines.at(-1)).toContain('the restart has ended')
  expect([supervisor.missing, workers.length]).toEqual([1, 5])
  clock.advance(200)
  await settled()
  workers[5]?.serve()
  await settled()
  expect([supervisor.pids, supervisor.missing]).toEqual([[6], 0])
})

test('a worker that ends while a restart pauses is replaced once', async () => {
  const { supervisor, workers, clock } = await serving(1)
  const restarted = supervisor.restart()
  await settled()
  workers[1]?.end(5)
  workers[0]?.end(1)
  await settled()
  clock.advance(100)
  await settled()
  expect(workers).toHaveLength(3)
  workers[2]?.serve()
  await restarted
  clock.advance(10_000)
  await settled()
  expect([supervisor.pids, workers.length]).toEqual([[3], 3])
})

test('a restart with a program that does not start leaves the other workers as they are', async () => {
  const { supervisor, workers, clock, lines } = await serving(1)
  const restarted = supervisor.restart()
  for (let attempt = 1; attempt <= 4; attempt++) {
    await settled()
    expect(workers).toHaveLength(1 + attempt)
    workers.at(-1)?.end(1)
    await settled()
    clock.advance(400)
  }
  await restarted
  expect(workers).toHaveLength(5)
  expect(workers[0]?.isDraining).toBe(false)
  expect(supervisor.missing).toBe(0)
  expect(lines.at(-1)).toContain('the workers that are left go on')
})

test('the end interrupts the pause of a restart: no other worker starts', async () => {
  const { supervisor, workers, clock, lines } = await serving(1)
  const restarted = supervisor.restart()
  await settled()
  workers[1]?.end(5)
  await settled()
  const closed = supervisor.close(1_000)
  workers[0]?.end(0)
  await Promise.all([restarted, closed])
  clock.advance(1_000)
  expect(workers).toHaveLength(2)
  expect(lines.at(-1)).toContain('another attempt follows')
})

test('the end drains all, and kills those that do not end in time', async () => {
  const { supervisor, workers, clock } = await serving(2)
  const closed = supervisor.close(1_000)
  expect(workers.map(({ isDraining }) => isDraining)).toEqual([true, true])
  workers[0]?.end(0)
  clock.advance(1_000)
  await closed
  expect(workers.map(({ isKilled }) => isKilled)).toEqual([true, true])
})
