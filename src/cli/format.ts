export const FORMATS = ['text', 'json', 'github'] as const

/** How a command answers. `github` is the text in which GitHub Actions finds annotations. */
export type Format = (typeof FORMATS)[number]
