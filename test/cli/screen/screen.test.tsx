import { render } from 'ink-testing-library'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Screen } from '../../../src/cli/screen/screen.tsx'
import { busyLiveStats } from './pulse.ts'

function started() {
  const onQuit = vi.fn<() => void>()
  const screen = render(<Screen liveStats={busyLiveStats()} hasColour={false} onQuit={onQuit} />)
  onTestFinished(() => screen.unmount())
  const until = async (text: string) =>
    vi.waitFor(() => expect(screen.lastFrame()).toContain(text), { interval: 5 })
  return { ...screen, onQuit, until }
}

describe('the live screen', () => {
  it('shows the look that it is given, and the next one', async () => {
    const { lastFrame, rerender, until, onQuit } = started()
    expect(lastFrame()).toContain('revision 12')
    rerender(<Screen liveStats={busyLiveStats({ storeRevision: 13 })} hasColour={false} onQuit={onQuit} />)
    await until('revision 13')
  })

  it('obeys keys as terminals send them', async () => {
    const { stdin, until, lastFrame } = started()
    await vi.waitFor(() => {
      stdin.write('\u001B[B')
      expect(lastFrame()).toContain('> openai')
    })
    stdin.write('\r')
    await until('esc back')
    stdin.write('\u001B')
    await until('› ENDPOINT')
    stdin.write('\t')
    await until('› MODEL')
  })

  it.each(['q', '\u0003'])('quits on %j', async key => {
    const { stdin, onQuit } = started()
    await vi.waitFor(() => {
      stdin.write(key)
      expect(onQuit).toHaveBeenCalled()
    })
  })
})
