/** A wall-clock time in ISO 8601, in UTC with milliseconds: the form of every document and message. */
export function iso(ms: number): string {
  return new Date(ms).toISOString()
}
