import type { Shapes } from '../api/client.ts'
import { milliseconds } from './format.ts'
import { Prose } from './page.tsx'

type Probe = Shapes['probe']

/** What a probe has found about an endpoint, and what would fix it. */
export function ProbeFinding({
  probe: { state, cause, hint, fix, latency_ms: ms, model, by, paths, reason },
  onFix,
}: {
  readonly probe: Probe
  readonly onFix: (fix: NonNullable<Probe['fix']>) => void
}) {
  if (state === 'ok')
    return (
      <div className="notice good">
        <p>
          <strong>
            {model} answers{ms === null ? '' : ` in ${milliseconds(ms)}`}
            {by === 'rate_limited' ? ', though its rate limit is used up now' : ''}.
          </strong>
        </p>
        {paths && paths.length > 0 && <p className="note">It serves {paths.join(', ')}.</p>}
      </div>
    )
  return (
    <div className="notice bad">
      <p>
        <strong>
          <Prose text={cause ?? reason ?? 'The probe failed.'} />
        </strong>
      </p>
      {hint !== undefined && (
        <p>
          <Prose text={hint} />
        </p>
      )}
      {fix && (
        <button type="button" className="button fix" onClick={() => onFix(fix)}>
          Use {fix.base_url ?? `the protocol ${fix.protocol}`}
        </button>
      )}
    </div>
  )
}
