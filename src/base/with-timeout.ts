/**
 * A signal that aborts with another one, or after a time, as a `TimeoutError`.
 * Node collects a timeout signal as garbage, so that it never fires, if `AbortSignal.any` is its only listener.
 */
export function withTimeout(timeoutMs: number, signal: AbortSignal): AbortSignal {
  const late = AbortSignal.timeout(timeoutMs)
  late.addEventListener('abort', () => undefined, { once: true })
  return AbortSignal.any([signal, late])
}
