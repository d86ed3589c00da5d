/**
 * A signal that comes with another one, or after so long, as a `TimeoutError`.
 *
 * Node collects a timeout as garbage, so that it never comes, where nobody listens to it but `AbortSignal.any`.
 */
export function withTimeout(patienceMs: number, signal: AbortSignal): AbortSignal {
  const late = AbortSignal.timeout(patienceMs)
  late.addEventListener('abort', () => undefined, { once: true })
  return AbortSignal.any([signal, late])
}
