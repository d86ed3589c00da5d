import { expect, onTestFinished, test } from 'vitest'
import { SECRET, scene } from '../crash/scene.ts'
import { json } from '../support/answers.ts'
import { tempDir } from '../support/temp-dir.ts'
import { gwProcess } from './process.ts'

test.each([
  [['--uploads-max', '12'], '`--uploads-max 12` is not a size.'],
  [['--uploads-folder', 'missing'], 'is not a folder that can be written.'],
  [['--uploads-folder', 'gw.yaml'], 'is not a folder that can be written.'],
])('gw serve %j says at the start what is wrong', async (flags, message) => {
  const dir = tempDir(onTestFinished)
  dir.write('gw.yaml', 'version: 1\n')
  const ended = await gwProcess(['serve', '-c', 'gw.yaml', ...flags], { cwd: dir.path })
  expect(ended.exit).toBe(64)
  expect(ended.stdout + ended.stderr).toContain(message)
})

test('uploads that wait are bounded by --uploads-max, and go to --uploads-folder', async () => {
  const { dir, upstream, serve } = await scene()
  upstream.answer(json({ text: 'hi', usage: { type: 'duration', seconds: 1 } }))
  const upload = async (...flags: string[]) => {
    const { child, url } = await serve(...flags)
    const body = new FormData()
    body.append('model', 'm')
    body.append('file', new File([new Uint8Array(400_000)], 'a.mp3'))
    const headers = { authorization: `Bearer ${SECRET}` }
    const answer = await fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', headers, body })
    child.kill('SIGKILL')
    return answer.status
  }
  expect(await upload('--uploads-max', '100KiB')).toBe(503)
  expect(await upload('--uploads-max', '1MiB', '--uploads-folder', dir.path)).toBe(200)
})
