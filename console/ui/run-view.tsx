import { Link } from '@tanstack/react-router'
import type { Run } from '../api/playground.ts'
import { State } from './badges.tsx'
import { count, milliseconds, money } from './format.ts'
import { Facts, Failure } from './page.tsx'

/** A call as it comes: its text, and at its end its times, tokens and cost. */
export function RunView({ run }: { readonly run: Run }) {
  const { state, status, text, raw, error } = run
  const isGood = status !== undefined && status < 400
  return (
    <div className="run">
      <p role="status">
        {status === undefined ? (
          state === 'running' && <State state="sent" tone="off" />
        ) : (
          <State
            state={isGood ? `${status} answered` : `${status} rejected`}
            tone={isGood ? 'good' : 'bad'}
          />
        )}
      </p>
      {error && <Failure error={error} />}
      {text !== '' && <div className="answer">{text}</div>}
      {text === '' && raw !== '' && state !== 'running' && (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <pre className="diff" tabIndex={0} role="group" aria-label="Body of the answer">
          {indented(raw)}
        </pre>
      )}
      {state === 'done' && <Bill run={run} />}
      {text !== '' && state === 'done' && (
        <details>
          <summary>Body of the answer</summary>
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <pre className="diff" tabIndex={0} role="group" aria-label="Body of the answer">
            {indented(raw)}
          </pre>
        </details>
      )}
    </div>
  )
}

function Bill({ run: { call, firstByteMs, totalMs, requestId } }: { readonly run: Run }) {
  const output = call?.output_tokens
  const seconds = totalMs === undefined ? 0 : (totalMs - (firstByteMs ?? 0)) / 1_000
  return (
    <Facts
      facts={[
        ['Cost', call && money(call.cost, call.currency)],
        ['Tokens', call && `${count(call.input_tokens ?? 0)} in, ${count(call.output_tokens ?? 0)} out`],
        ['First byte', milliseconds(firstByteMs)],
        ['Total', milliseconds(totalMs)],
        [
          'Tokens per second',
          call?.stream && output !== undefined && output > 1 && seconds > 0
            ? count(output / seconds)
            : undefined,
        ],
        ['Endpoint', call?.endpoint],
        ['Attempts', call && call.attempts > 1 ? call.attempts : undefined],
        ['Flags', call?.flags.join(', ')],
        [
          'Request',
          requestId &&
            (call ? (
              <Link to="/calls" search={{ request: requestId }}>
                {requestId}
              </Link>
            ) : (
              <code>{requestId}</code>
            )),
        ],
      ]}
    />
  )
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
