import { execFileSync } from 'node:child_process'

/** Whether Prometheus's own checker is here: `.ci/run` sees to it, a desk may lack it. */
export function hasPromtool(): boolean {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
