import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { serve } from '../../src/server/serve.ts'
import type { ServeOptions } from '../../src/server/serving.ts'
import { LedgerThread } from '../../src/store/ledger/ledger-thread.ts'
import { gwProcess } from '../cli/process.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { CONTROL_THREADS } from '../support/whole-gateway.ts'

const LEDGER_WORKER = new URL('../../dist/store/ledger/worker.js', import.meta.url)
const FILES_THREAD = new URL('../../dist/server/files/files-thread.js', import.meta.url)
const LOOPBACK = { host: '127.0.0.1', port: 0 }

const model = (name: string, more = '') => `
version: 1
endpoints: { main: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: m${more} } }
publications: { ${name}: { bindings: [{ endpoint: main }] } }
keys: { app: { kind: platform, secret: { env: APP_KEY } } }
`
const SECRET = 'sk-a-secret-of-their-own-0123456789'

/** Serves what stands in `gw.yaml` of a folder; its store lives in the same folder from one start to the next. */
async function start(dir: TempDir, files?: ServeOptions['files']) {
  const serving = await serve(
    { store: 'sqlite:./gw.db', gateway: LOOPBACK, control: LOOPBACK, ...(files && { files }) },
    {
      environment: { APP_KEY: SECRET },
      cwd: dir.path,
      clock: systemClock,
      random: systemRandom,
      log: createLog({ write: () => undefined }, { level: 'silent', pretty: false, colour: false }),
      ledgerThread: new LedgerThread(LEDGER_WORKER),
      filesThreadUrl: FILES_THREAD,
      threadsUrl: CONTROL_THREADS,
    },
  )
  let closed = false
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await serving.close(0)
  }
  onTestFinished(close)
  const health = async () =>
    (await (await fetch(`${serving.gatewayUrl}/health`)).json()) as {
      status: string
      revision: number
      reasons: string[]
    }
  const models = async () => {
    const headers = { authorization: `Bearer ${SECRET}` }
    const { data } = (await (await fetch(`${serving.gatewayUrl}/v1/models`, { headers })).json()) as {
      data: { id: string }[]
    }
    return data.map(({ id }) => id)
  }
  return { serving, close, health, models }
}

describe('a gateway over files', () => {
  test('applies them before it serves, also where no store was ever made', async () => {
    const dir = tempDir(onTestFinished)
    const paths = [dir.write('gw.yaml', model('first'))]
    const { models, health } = await start(dir, { paths, watch: false })
    expect(await models()).toEqual(['first'])
    expect(await health()).toMatchObject({ status: 'ok', revision: 1, reasons: [] })
  })

  test('serves them within moments of each save, and what was good while they are not', async () => {
    const dir = tempDir(onTestFinished)
    const paths = [dir.write('gw.yaml', model('first'))]
    const { models, health } = await start(dir, { paths, watch: true })
    dir.write('gw.yaml', model('second'))
    await expect.poll(models).toEqual(['second'])
    dir.write('gw.yaml', model('third', ', served_modell: x'))
    await expect.poll(async () => (await health()).status).toBe('degraded')
    expect((await health()).reasons).toEqual([
      expect.stringMatching(/^files_rejected: .*gw\.yaml:3:\d+ GW1202 .*served_modell/),
    ])
    expect(await models()).toEqual(['second'])
    dir.write('gw.yaml', model('third'))
    await expect.poll(models).toEqual(['third'])
    expect(await health()).toMatchObject({ status: 'ok', reasons: [] })
  })

  test('says `drift` while a rollback stands that their next save would undo', async () => {
    const dir = tempDir(onTestFinished)
    const paths = [dir.write('gw.yaml', model('first'))]
    const { models, health } = await start(dir, { paths, watch: true })
    dir.write('gw.yaml', model('second'))
    await expect.poll(models).toEqual(['second'])
    expect((await health()).reasons).toEqual([])
    const world = { cwd: dir.path }
    const rollback = await gwProcess(['rollback', '1', '--yes', '--store', 'sqlite:./gw.db'], world)
    expect(rollback).toMatchObject({ exit: 0, stdout: expect.stringContaining('Served by 1 gateway.') })
    expect(rollback.stderr).toContain(
      `follows ${dir.at('gw.yaml')}: the next save of a file there reverts this. Change the files, too.`,
    )
    expect(await models()).toEqual(['first'])
    await expect
      .poll(async () => (await health()).reasons)
      .toEqual([
        expect.stringMatching(/^drift: revision 3, a rollback to 1.*, differs from .*gw\.yaml: \d resources/),
      ])
    expect(await health()).toMatchObject({ status: 'degraded', revision: 3 })
    const status = await gwProcess(['status', '--store', 'sqlite:./gw.db'], world)
    expect(status.stdout).toContain('drift: revision 3')
    dir.write('gw.yaml', model('first'))
    await expect.poll(async () => (await health()).status).toBe('ok')
    expect(await models()).toEqual(['first'])
  })

  test('says `drift` after an apply of other files, not after keys of the command line, and no more once it is undone', async () => {
    const dir = tempDir(onTestFinished)
    const paths = [dir.write('gw.yaml', model('first'))]
    const { health } = await start(dir, { paths, watch: false })
    const run = async (...words: string[]) => {
      const ended = await gwProcess([...words, '--store', 'sqlite:./gw.db'], { cwd: dir.path })
      expect(ended).toMatchObject({ exit: 0 })
    }
    await run('keys', 'create', 'more', '--kind', 'platform')
    const other = dir.write('other.yaml', model('second'))
    await run('apply', '-c', other, '--yes', '--skip-probe')
    await expect
      .poll(async () => (await health()).reasons)
      .toEqual([expect.stringMatching(/^drift: revision 3, an apply.*: 4 resources differ/)])
    await run('apply', '-c', 'gw.yaml', '--yes', '--skip-probe')
    await expect.poll(async () => (await health()).reasons).toEqual([])
  })

  test('that starts again over broken files serves the last good revision, and heals by a reload', async () => {
    const dir = tempDir(onTestFinished)
    const paths = [dir.write('gw.yaml', model('good'))]
    await (await start(dir, { paths, watch: false })).close()
    dir.write('gw.yaml', 'version: 1\nendpoints: [')
    const again = await start(dir, { paths, watch: false })
    expect(await again.models()).toEqual(['good'])
    expect(await again.health()).toMatchObject({ status: 'degraded', revision: 1 })
    dir.write('gw.yaml', model('repaired'))
    await again.serving.reload()
    expect(await again.models()).toEqual(['repaired'])
    expect(await again.health()).toMatchObject({ status: 'ok', revision: 2 })
  })

  test('does not start where they are broken and nothing was ever applied', async () => {
    const dir = tempDir(onTestFinished)
    const paths = [dir.write('gw.yaml', 'version: 1\nendpoints: [')]
    await expect(start(dir, { paths, watch: true })).rejects.toMatchObject({
      code: 'configuration_invalid',
      problems: [expect.objectContaining({ code: 'yaml_syntax' })],
    })
  })
})
