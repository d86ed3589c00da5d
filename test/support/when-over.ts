/**
 * Where a part of a test registers its own end: vitest's `onTestFinished` inside a test, `afterAll` at the top of
 * a file or of a `describe`.
 */
export type WhenOver = (task: () => Promise<void> | void) => void
