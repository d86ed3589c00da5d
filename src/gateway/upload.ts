import { GwError } from '../base/catalogue/wire.ts'
import type { Edit } from '../base/splice.ts'
import type { MultipartPart, MultipartScanner } from '../http/multipart.ts'
import { readEdited, type Spool } from '../http/spool.ts'
import type { Content } from '../limits/content.ts'

/** A request in multipart/form-data, which may be too large for memory. It must be closed in the end. */
export class Upload {
  readonly content: Content
  readonly #spool: Spool
  readonly #scanner: MultipartScanner
  readonly #model: MultipartPart

  constructor(spool: Spool, scanner: MultipartScanner, model: MultipartPart, content: Content) {
    this.#spool = spool
    this.#scanner = scanner
    this.#model = model
    this.content = content
  }

  /** The edits that replace the model name. @throws {GwError} invalid_multipart if it contains the boundary. */
  named(servedModel: string): readonly Edit[] {
    const edits = this.#scanner.replace(this.#model, Buffer.from(servedModel))
    if (!edits) throw new GwError('invalid_multipart', 'The boundary occurs in the name of the model.')
    return edits
  }

  /** The body with edits; may be read again for another endpoint. */
  read(edits: readonly Edit[]): AsyncIterable<Buffer> {
    return readEdited(this.#spool, edits)
  }

  close(): Promise<void> {
    return this.#spool.close()
  }
}
