/** Loaded into a gw process by `--import`: tells where it peaked, and each tenth of a second how long its loop stood still. */
import { appendFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import process from 'node:process'

const { GW_STALLS: file } = process.env
if (file) {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  setInterval(() => {
    appendFileSync(file, `${Date.now()} ${(delay.max / 1e6).toFixed(1)}\n`)
    delay.reset()
  }, 100).unref()
}
process.on('exit', () => {
  process.stderr.write(`peak ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB\n`)
})
