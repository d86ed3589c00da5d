import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'

/** `dist/store/x.js` as a literal for the source of a process; `npm test` has built it. */
export const built = (file: string) => JSON.stringify(new URL(`../../../dist/${file}`, import.meta.url).href)

/** Runs a module in a process of its own, which is killed when the test is over. */
export function run(source: string, ...args: string[]) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', source, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Ends a process as a crash would, and waits until the kernel has taken everything back. */
export async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
