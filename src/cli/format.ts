export const FORMATS = ['text', 'json', 'github', 'junit'] as const

/** The output format of a command. `github` is annotations for GitHub Actions, `junit` the XML of test results for CI
 * servers. */
export type Format = (typeof FORMATS)[number]
