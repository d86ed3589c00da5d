/** The APIs that clients and upstreams speak. Nothing is translated between them. */
export const PROTOCOLS = ['openai', 'anthropic'] as const
export type Protocol = (typeof PROTOCOLS)[number]
