/** Replaces the bytes from `start` to `end` (offsets over all pieces together) with `bytes`. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly bytes: Buffer
}

/**
 * Applies `edits`, sorted and without overlap, to `pieces`. Copies only the replacements: the result contains views of
 * the pieces, so that a body of 20 MB costs a handful of small objects.
 */
export function splice(pieces: readonly Buffer[], edits: readonly Edit[]): Buffer[] {
  const spliced: Buffer[] = []
  let kept = 0
  for (const edit of edits) {
    pushViews(spliced, pieces, kept, edit.start)
    if (edit.bytes.length > 0) spliced.push(edit.bytes)
    kept = edit.end
  }
  pushViews(spliced, pieces, kept, Number.POSITIVE_INFINITY)
  return spliced
}

/** The bytes from `start` to `end` over all pieces together: a view within one piece, else a copy. */
export function extract(pieces: readonly Buffer[], start: number, end: number): Buffer {
  const views: Buffer[] = []
  pushViews(views, pieces, start, end)
  const [only] = views
  return views.length === 1 && only ? only : Buffer.concat(views)
}

function pushViews(views: Buffer[], pieces: readonly Buffer[], start: number, end: number): void {
  let offset = 0
  for (const piece of pieces) {
    const from = Math.max(start - offset, 0)
    const to = Math.min(end - offset, piece.length)
    if (from < to) views.push(from === 0 && to === piece.length ? piece : piece.subarray(from, to))
    offset += piece.length
    if (offset >= end) return
  }
}

/** The same edit with offsets relative to `by`. */
export function shifted(edit: Edit, by: number): Edit {
  return { start: edit.start - by, end: edit.end - by, bytes: edit.bytes }
}
