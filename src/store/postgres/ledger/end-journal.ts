import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../../base/clock.ts'
import type { Hold, HoldEnd } from '../../../schema/ledger.ts'
import { JournalFolder, listSegments } from '../../journal/files.ts'
import { Journal } from '../../journal/journal.ts'
import { JournalReader } from '../../journal/reader.ts'
import { keyOfHold } from '../../ledger/messages.ts'
import { claimOf } from '../../ledger/recovery.ts'

/** An outage of a minute at a thousand calls a second is some 10 MB; files of this size are recycled. */
const SEGMENT_BYTES = 4 * 1_048_576
const PAGE_ROWS = 1_000
const CLOSE_WITHIN_MS = 2_000

/** The folder of the journal of an instance. */
export function endJournalFolder(root: string, instance: string): string {
  return join(root, `ends-${instance}`)
}

/**
 * The ends of calls while the server is away: with their holds on the local disk, until they are in the store. So open
 * streams end whole during an outage, and what they cost survives the gateway.
 */
export class EndJournal {
  readonly #folder: string
  readonly #instance: string
  readonly #clock: Clock
  readonly #onProblem: (error: Error) => void
  #journal: Promise<Journal> | undefined
  /** Of the journal before, in the same folder. */
  #closed: Promise<void> = Promise.resolve()

  constructor(
    root: string,
    instance: string,
    { clock, onProblem }: { readonly clock: Clock; readonly onProblem: (error: Error) => void },
  ) {
    this.#folder = endJournalFolder(root, instance)
    this.#instance = instance
    this.#clock = clock
    this.#onProblem = onProblem
  }

  /** Resolves when both survive a power cut. @throws {NodeJS.ErrnoException} if they cannot be written. */
  async append(hold: Hold, end: HoldEnd): Promise<void> {
    this.#journal ??= this.#open()
    const journal = await this.#journal
    journal.append(['hold', hold])
    await journal.acknowledged(journal.append(['end', end]))
  }

  /** @param isWritten All of them are in the store: the files are removed. */
  async close(isWritten: boolean): Promise<void> {
    const opened = this.#journal
    this.#journal = undefined
    if (opened) this.#closed = this.#close(opened, isWritten)
    await this.#closed
  }

  async #close(opened: Promise<Journal>, isWritten: boolean): Promise<void> {
    const journal = await opened
    await journal.close(CLOSE_WITHIN_MS, isWritten)
    if (isWritten) removeEnds(this.#folder)
  }

  async #open(): Promise<Journal> {
    try {
      await this.#closed.catch(() => undefined)
      return await Journal.open({
        files: new JournalFolder(this.#folder),
        clock: this.#clock,
        atTurnEnd: task => void setImmediate(task),
        journalId: journalIdOf(this.#instance),
        firstRow: 1,
        segmentBytes: SEGMENT_BYTES,
        onProblem: this.#onProblem,
        onRecovered: () => undefined,
      })
    } catch (error) {
      this.#journal = undefined
      throw error
    }
  }
}

/**
 * The ends that an instance has left, with their holds.
 * @throws {JournalDamaged} if some of them are missing
 */
export function readEnds(
  root: string,
  instance: string,
): readonly { readonly hold: Hold; readonly end: HoldEnd }[] {
  const folder = endJournalFolder(root, instance)
  if (listSegments(folder).length === 0) return []
  const reader = new JournalReader(folder, journalIdOf(instance), 1)
  const holds = new Map<string, Hold>()
  const ends: { readonly hold: Hold; readonly end: HoldEnd }[] = []
  for (;;) {
    const rows = reader.read(PAGE_ROWS)
    if (rows.length === 0) return ends
    for (const { row } of rows) {
      if (row[0] === 'hold') holds.set(idOf(row[1]), row[1])
      else if (row[0] === 'end') {
        const hold = holds.get(idOf(row[1]))
        if (hold) ends.push({ hold, end: row[1] })
      }
    }
  }
}

export function removeEnds(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}

function idOf(claim: Hold | HoldEnd): string {
  return keyOfHold(claimOf(claim))
}

/** A journal has 32 digits, an instance 16. */
function journalIdOf(instance: string): string {
  return instance + instance
}
