import type { MessagePort } from 'node:worker_threads'
import { asError } from '../../../base/as-error.ts'
import { CommandError } from '../../../base/catalogue/command.ts'
import { systemClock } from '../../../base/clock.ts'
import { TextCache } from '../../journal/bytes.ts'
import { nameOfAddress } from '../address.ts'
import { postgresFault } from '../faults.ts'
import { LaneConnection } from './lane-connection.ts'
import { type PostgresPost, type PostgresReport, type PostgresSettings, unpack } from './messages.ts'
import { PostgresWriter } from './writer.ts'

/** The body of the ledger's thread for a store in PostgreSQL, until it gets `close`. */
export async function writePostgresLedger(port: MessagePort, settings: PostgresSettings): Promise<void> {
  const report = (message: PostgresReport) => port.postMessage(message)
  const connections: LaneConnection[] = []
  const connect = () => {
    const connection = new LaneConnection(settings.address)
    connections.push(connection)
    return connection
  }
  let writer: PostgresWriter
  try {
    writer = await PostgresWriter.begin({ connect, clock: systemClock, report }, settings)
  } catch (error) {
    for (const connection of connections) await connection.close()
    const { message, hint } = describeFault(error, nameOfAddress(settings.address))
    report({ is: 'unavailable', message, hint })
    port.close()
    return
  }
  const texts = new TextCache()
  port.on('message', (message: PostgresPost | 'close') => {
    if (message !== 'close') writer.receive(unpack(message, texts))
    else void writer.close().then(() => port.close())
  })
  report({ is: 'ready', instance: writer.instance })
}

function describeFault(error: unknown, place: string): { readonly message: string; readonly hint?: string } {
  const fault = postgresFault(error, place)
  return fault instanceof CommandError
    ? fault
    : { message: `${place} cannot be used: ${asError(error).message}.` }
}
