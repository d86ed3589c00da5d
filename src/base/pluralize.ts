/** `1 file`, `2 files`; `2 entries` with a plural of its own. */
export function pluralize(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`
}
