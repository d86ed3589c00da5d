import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { LedgerThread } from '../../../src/store/ledger/ledger-thread.ts'
import { openLedger } from '../../../src/store/ledger/open-ledger.ts'
import { openStore } from '../../../src/store/open.ts'
import { certificate } from '../../support/certificate.ts'
import { OwnPostgres } from '../../support/own-postgres.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { WORKER_URL } from '../ledger/opened.ts'
import { hold, settle } from '../ledger/rows.ts'

/** Names of one server, of which its certificate has the first. */
const RIGHT = '127.0.0.1'
const WRONG = 'localhost'
const authority = certificate({ names: ['the authority'], isAuthority: true })
const another = certificate({ names: ['another authority'], isAuthority: true })

/** A server that accepts connections over TLS only. */
async function secureServer(): Promise<OwnPostgres> {
  const own = certificate({ names: [RIGHT], issuer: authority })
  const server = await OwnPostgres.create(afterAll, { ssl: 'on' })
  server.place('server.crt', own.cert)
  server.place('server.key', own.key)
  server.place('pg_hba.conf', 'local all all trust\nhostssl all all 127.0.0.1/32 trust\n')
  await server.start()
  return server
}

describe('a server with TLS', () => {
  let server: OwnPostgres
  const folder = tempDir(afterAll)
  const trusted = folder.write('authority.pem', authority.cert)
  const foreign = folder.write('another.pem', another.cert)

  beforeAll(async () => {
    server = await secureServer()
  }, 60_000)

  const urlOf = (host: string, parameters: Readonly<Record<string, string>>) => {
    const url = new URL(`postgres://postgres@${host}:${server.port}/postgres`)
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }
  const open = async (host: string, parameters: Readonly<Record<string, string>>) => {
    const store = await openStore(urlOf(host, parameters), { mode: 'create', clock: systemClock })
    onTestFinished(() => store.close())
    return store.head()
  }

  test('whose authority and name are right serves store and ledger with verify-full', async () => {
    const parameters = { sslmode: 'verify-full', sslrootcert: trusted }
    await expect(open(RIGHT, parameters)).resolves.toMatchObject({ revision: 0 })
    const problems: string[] = []
    const onText = (text: string) => void problems.push(text)
    const ledger = await openLedger(urlOf(RIGHT, parameters), {
      clock: systemClock,
      folder: folder.path,
      events: {
        onProblem: onText,
        onAlarm: onText,
        onRecovered: () => undefined,
        onDeath: error => void problems.push(error.message),
      },
      thread: new LedgerThread(WORKER_URL),
    })
    await ledger.open(hold('a'))
    await ledger.end(settle('a'))
    expect(await ledger.close()).toBe(0)
    expect(problems).toEqual([])
    expect(await server.query('select count(*)::int as n from ledger', [], 'postgres')).toEqual([{ n: 1 }])
  })

  test.each(['verify-full', 'verify-ca'])('of an unknown authority is rejected by %s', async sslmode => {
    for (const more of [{}, { sslrootcert: foreign }]) {
      await expect(open(RIGHT, { sslmode, ...more })).rejects.toMatchObject({
        code: 'store_unavailable',
        hint: 'Name the certificate of its authority: ?sslrootcert=PATH.',
      })
    }
  })

  test('with another name is rejected by verify-full, and accepted by verify-ca', async () => {
    await expect(open(WRONG, { sslmode: 'verify-full', sslrootcert: trusted })).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/localhost/),
    })
    await expect(open(WRONG, { sslmode: 'verify-ca', sslrootcert: trusted })).resolves.toBeDefined()
  })

  test('is not verified with require, and not used with disable', async () => {
    await expect(open(WRONG, { sslmode: 'require' })).resolves.toBeDefined()
    await expect(open(WRONG, { sslmode: 'disable' })).rejects.toMatchObject({ code: 'store_unavailable' })
  })
})
