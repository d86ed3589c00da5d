import { useEffect, useRef, useState } from 'react'

export interface Bar {
  /** As it is shown: a day or an hour. */
  readonly label: string
  readonly value: number
  /** The value in words. */
  readonly text: string
}

const HEIGHT = 180
const AXIS = 22
const NARROWEST_LEFT = 56
/** Of a digit at the axis. */
const DIGIT = 7
const TOP = 12
/** Of a bar, with its gap. */
const NARROWEST = 3
const WIDEST = 56
/** The room that a label below the axis needs. */
const LABEL = 80

/** Values over time. It is a picture of the table below it, which screen readers read in its place. */
export function BarChart({
  label,
  bars,
  format,
}: {
  readonly label: string
  readonly bars: readonly Bar[]
  /** Of values at the axis. */
  readonly format: (value: number) => string
}) {
  const frame = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(600)
  const [marked, setMarked] = useState<number>()
  useEffect(() => {
    const element = frame.current
    if (!element) return undefined
    const observer = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const top = niceTop(Math.max(...bars.map(({ value }) => value), 0))
  const ticks = [0, top / 2, top].map(value => ({ value, text: format(value) }))
  const left = Math.max(NARROWEST_LEFT, 12 + DIGIT * Math.max(...ticks.map(({ text }) => text.length)))
  const space = Math.max(0, width - left)
  const shown = bars.slice(-Math.floor(space / NARROWEST))
  const step = Math.min(WIDEST, space / Math.max(1, shown.length))
  const gap = step > 6 ? Math.min(4, step * 0.2) : 0
  const yOf = (value: number) => TOP + (HEIGHT - TOP) * (1 - value / top)
  const every = Math.max(1, Math.ceil(shown.length / Math.max(1, Math.floor(space / 90))))
  const bar = marked === undefined ? undefined : shown[marked]
  return (
    <figure className="chart" ref={frame}>
      <figcaption>
        <span>{label}</span>
        <span className="note">{bar ? `${bar.label}: ${bar.text}` : ''}</span>
      </figcaption>
      <svg
        width={width}
        height={HEIGHT + AXIS}
        role="img"
        aria-label={label}
        onPointerMove={({ nativeEvent }) => {
          const at = Math.floor((nativeEvent.offsetX - left) / step)
          setMarked(at >= 0 && at < shown.length ? at : undefined)
        }}
        onPointerLeave={() => setMarked(undefined)}
      >
        {ticks.map(({ value, text }) => (
          <g key={value}>
            <line className="grid" x1={left} x2={width} y1={yOf(value)} y2={yOf(value)} />
            <text className="tick" x={left - 8} y={yOf(value) + 4} textAnchor="end">
              {text}
            </text>
          </g>
        ))}
        {shown.map(({ label: at, value }, index) => (
          <g key={at}>
            <rect
              className={index === marked ? 'bar marked' : 'bar'}
              x={left + index * step + gap / 2}
              width={Math.max(1, step - gap)}
              y={value > 0 ? Math.min(yOf(value), HEIGHT - 1) : HEIGHT}
              height={value > 0 ? Math.max(1, HEIGHT - yOf(value)) : 0}
            />
            {index % every === 0 && left + index * step + LABEL <= width && (
              <text className="tick" x={left + index * step} y={HEIGHT + 16}>
                {at}
              </text>
            )}
          </g>
        ))}
      </svg>
    </figure>
  )
}

/** The next of 1, 2, 5 times a power of ten. */
function niceTop(most: number): number {
  if (most <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(most))
  return ([1, 2, 5, 10].find(factor => factor * power >= most) ?? 10) * power
}
