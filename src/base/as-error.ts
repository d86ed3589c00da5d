/** What was raised, as an error: anything can be thrown or be the reason of a rejection. */
export function asError(raised: unknown): Error {
  return raised instanceof Error ? raised : new Error(String(raised))
}
