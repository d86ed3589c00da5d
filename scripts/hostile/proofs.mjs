import { setTimeout as pause } from 'node:timers/promises'
import { inWorld, median } from './proof.mjs'

const percent = share => Math.round(share * 1_000) / 10

/** Normal traffic with and without clients that dribble heads, in pairs of windows in one run. */
export function slowloris({ sockets, pairs, windowMs, rate, connections }) {
  return inWorld({}, async world => {
    const normal = world.actor('normal', { connections, rate })
    await normal.report()
    const window = async () => {
      await normal.ask()
      await pause(windowMs)
      return normal.ask()
    }
    await window() // warm
    const rounds = []
    for (let pair = 0; pair < pairs; pair++) {
      const without = await window()
      const attack = world.actor('slowloris', { sockets, everyMs: 5_000 })
      await attack.report()
      let { open } = await attack.ask()
      // Each is cut after its ten seconds and comes back within one: most of them are there at any time.
      for (let wait = 0; wait < 40 && open < sockets * 0.9; wait++) {
        await pause(250)
        open = (await attack.ask()).open
      }
      const beside = await window()
      const { lost } = await attack.ask('end')
      await attack.end()
      await pause(500)
      rounds.push({ without, beside, open, lost })
    }
    const goodput = median(rounds.map(({ without, beside }) => beside.answered / without.answered))
    return {
      sockets: Math.min(...rounds.map(({ open }) => open)),
      per_second: Math.round(median(rounds.map(({ without }) => without.answered)) / (windowMs / 1_000)),
      goodput_percent: percent(goodput),
      failed: rounds.reduce((sum, { beside }) => sum + beside.failed, 0),
      p99_ms: [median(rounds.map(r => r.without.p99Ms)), median(rounds.map(r => r.beside.p99Ms))].map(
        Math.round,
      ),
      rss_mib: world.rssMiB,
      holds: goodput >= 0.95,
    }
  })
}

/** Readers of a kilobyte a second of large answers: what they cost in memory, and what normal traffic sees of them. */
export function slowReaders({ readers, megabytes, seconds }) {
  return inWorld({}, async world => {
    const normal = world.actor('normal', { connections: 4, rate: 50 })
    await normal.report()
    await pause(2_000)
    await normal.ask()
    const before = world.rssMiB
    const slow = world.actor('slowReaders', { readers, bytes: megabytes * 1_048_576 })
    await slow.report()
    let highest = before
    let filling
    for (let second = 0; second < seconds; second++) {
      await pause(1_000)
      highest = Math.max(highest, world.rssMiB)
      // By then every buffer of the system between the two ends is full.
      if (second === Math.floor(seconds / 4)) filling = await normal.ask()
    }
    const { read, closed } = await slow.ask()
    const { writtenBytes } = await world.upstream.ask()
    const traffic = await normal.ask()
    return {
      readers,
      offered_mib: readers * megabytes,
      taken_from_upstream_mib: Math.round(writtenBytes / 1_048_576),
      read_kib: Math.round(read / 1_024),
      rss_mib: [before, highest],
      rss_kib_per_reader: Math.round(((highest - before) * 1_024) / readers),
      closed,
      normal_failed: filling.failed + traffic.failed,
      normal_p99_ms: { filling: Math.round(filling.p99Ms), filled: Math.round(traffic.p99Ms) },
      holds: closed === 0 && filling.failed + traffic.failed === 0 && highest - before < 64 + readers / 2,
    }
  })
}

/** Open streams with an event every so often: memory for each, how late events are, and that none is lost. */
export function openStreams({ count, events, everyMs }) {
  return inWorld({ flags: ['--max-connections', String(count + 50)] }, async world => {
    const direct = world.actor('streams', {
      port: world.upstreamPort,
      count: Math.min(50, count),
      events: Math.max(3, Math.floor(events / 2)),
      everyMs,
    })
    await direct.report()
    await pause(events * everyMs * 0.6 + 1_000)
    const bare = await direct.ask()
    await direct.end()

    const before = world.rssMiB
    const through = world.actor('streams', { count, events, everyMs })
    await through.report()
    let highest = before
    let seen = await through.ask()
    const deadline = performance.now() + events * everyMs * 2 + 60_000
    while (seen.whole + seen.wrong < count && performance.now() < deadline) {
      await pause(500)
      highest = Math.max(highest, world.rssMiB)
      seen = await through.ask()
    }
    return {
      streams: seen.opened,
      whole: seen.whole,
      wrong: seen.wrong,
      events: seen.events,
      added_delay_us: { p50: seen.p50Us - bare.p50Us, p99: seen.p99Us - bare.p99Us },
      through_us: { p50: seen.p50Us, p99: seen.p99Us, max: seen.maxUs },
      rss_mib: [before, highest],
      rss_kib_per_stream: Math.round(((highest - before) * 1_024) / count),
      holds: seen.whole === count && seen.wrong === 0,
    }
  })
}
