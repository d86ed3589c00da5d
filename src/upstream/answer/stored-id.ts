import { CursorSpent, JsonCursor } from '../../base/json/cursor.ts'
import { OPEN_OBJECT, QUOTE } from '../../base/json/grammar.ts'

/** Longer ids are not recorded; those of OpenAI have about 60 characters, those of gateways before it about 300. */
const MAX_ID_BYTES = 512
const ID = /^"[\w.~:=-]+"$/
/** Limit of walked values in the output of a response. */
const MAX_STEPS = 1_000_000

/** Decodes the id of a stored response or item from its JSON string; undefined if it cannot be one. */
export function storedId(json: Buffer): string | undefined {
  if (json.length > MAX_ID_BYTES) return undefined
  const text = json.toString('latin1')
  return ID.test(text) ? text.slice(1, -1) : undefined
}

/**
 * The ids of the items in the `output` of a whole response.
 * @param output A valid JSON array; the ids after its first million values are not read.
 */
export function itemIds(output: Buffer): readonly string[] {
  const cursor = new JsonCursor([output], 0, MAX_STEPS)
  const ids: string[] = []
  try {
    cursor.items(() => {
      if (cursor.peek() !== OPEN_OBJECT) return cursor.skip()
      cursor.members(name => {
        if (name !== 'id' || cursor.peek() !== QUOTE) return cursor.skip()
        const id = storedId(Buffer.from(JSON.stringify(cursor.text())))
        if (id !== undefined) ids.push(id)
      })
    })
  } catch (error) {
    if (!(error instanceof CursorSpent)) throw error
  }
  return ids
}
