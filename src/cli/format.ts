export const FORMATS = ['text', 'json', 'github', 'junit'] as const

/** How a command answers. `github` is the text in which GitHub Actions finds annotations, `junit` the XML
 * that CI servers read test results from. */
export type Format = (typeof FORMATS)[number]
