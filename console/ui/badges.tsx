import type { Shapes } from '../api/client.ts'
import { percent } from './format.ts'

/** How good a state is; `off`: neither good nor bad. Each has a colour and a shape of its own, for colour-blind readers. */
export type Tone = 'good' | 'warn' | 'bad' | 'off'

const SHAPES: Readonly<Record<Tone, string>> = {
  good: 'M5 1a4 4 0 1 1 0 8 4 4 0 0 1 0-8',
  warn: 'M5 1 9.500 9h-9z',
  bad: 'M1.500 1.500h7v7h-7z',
  off: 'M5 1a4 4 0 1 1 0 8 4 4 0 0 1 0-8M5 3a2 2 0 1 0 0 4 2 2 0 0 0 0-4',
}

const TONES: Readonly<Record<string, Tone>> = {
  healthy: 'good',
  ok: 'good',
  active: 'good',
  listed: 'good',
  answered: 'good',
  connected: 'good',
  up: 'good',
  unhealthy: 'bad',
  failed: 'bad',
  silent: 'bad',
  disconnected: 'bad',
  down: 'bad',
  banned: 'bad',
  degraded: 'warn',
  draining: 'warn',
  maintenance: 'warn',
  suspended: 'warn',
  expired: 'warn',
  no_secret: 'warn',
  skipped: 'off',
}

/** A state as a word, with the colour and shape of its tone. */
export function State({
  state,
  tone = TONES[state] ?? 'off',
}: {
  readonly state: string
  readonly tone?: Tone
}) {
  return (
    <span className={`state ${tone}`}>
      <svg viewBox="0 0 10 10" aria-hidden="true">
        <path d={SHAPES[tone]} fillRule="evenodd" />
      </svg>
      {state.replaceAll('_', ' ')}
    </span>
  )
}

/** Who may change a resource. */
export function Owner({ owner, set }: Pick<Shapes['key_shown'], 'owner' | 'set'>) {
  if (owner === 'config') return <span className="tag">files · {set}</span>
  return <span className="tag">{owner === 'cli' ? 'command line' : 'console'}</span>
}

/** How much of a limit is used. */
export function Meter({
  label,
  used,
  of,
  share,
}: {
  readonly label: string
  readonly used: string
  readonly of: string
  readonly share: number
}) {
  const tone = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'good'
  return (
    <div className="meter">
      <span className="meter-label">
        <span>{label}</span>
        <span className="figure">
          {used} of {of} · {percent(share)}
        </span>
      </span>
      <progress
        className={tone}
        value={Math.min(1, share)}
        max={1}
        aria-label={`${label}: ${percent(share)}`}
      />
    </div>
  )
}
