import { useEffect, useRef, useState } from 'react'

export interface Bar {
  /** When it begins: no other bar has it, while two labels are the same at the end of summer time. */
  readonly at: number
  /** The text below the axis: a day or an hour. */
  readonly label: string
  readonly value: number
  /** The value with its unit, shown while the pointer is over the bar. */
  readonly text: string
}

// In CSS pixels.
const HEIGHT = 180
const AXIS_HEIGHT = 22
const MIN_LEFT_WIDTH = 56
/** Of a value at the vertical axis. */
const DIGIT_WIDTH = 7
const TOP = 12
/** Of a bar, with the gap to the next one. */
const MIN_BAR_WIDTH = 3
const MAX_BAR_WIDTH = 56
/** Of a label below the horizontal axis. */
const LABEL_WIDTH = 80

/** A bar for each value over time. Screen readers read the table below it, which has the same values. */
export function BarChart({
  label,
  bars,
  format,
}: {
  readonly label: string
  readonly bars: readonly Bar[]
  /** Formats the values at the vertical axis. */
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
  const left = Math.max(MIN_LEFT_WIDTH, 12 + DIGIT_WIDTH * Math.max(...ticks.map(({ text }) => text.length)))
  const space = Math.max(0, width - left)
  const shown = bars.slice(-Math.floor(space / MIN_BAR_WIDTH))
  const step = Math.min(MAX_BAR_WIDTH, space / Math.max(1, shown.length))
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
        height={HEIGHT + AXIS_HEIGHT}
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
        {shown.map(({ at, label: text, value }, index) => (
          <g key={at}>
            <rect
              className={index === marked ? 'bar marked' : 'bar'}
              x={left + index * step + gap / 2}
              width={Math.max(1, step - gap)}
              y={value > 0 ? Math.min(yOf(value), HEIGHT - 1) : HEIGHT}
              height={value > 0 ? Math.max(1, HEIGHT - yOf(value)) : 0}
            />
            {index % every === 0 && left + index * step + LABEL_WIDTH <= width && (
              <text className="tick" x={left + index * step} y={HEIGHT + 16}>
                {text}
              </text>
            )}
          </g>
        ))}
      </svg>
    </figure>
  )
}

/** The end of the axis: the smallest of 1, 2 and 5 times a power of ten that is at least `max`. */
function niceTop(max: number): number {
  if (max <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(max))
  return ([1, 2, 5, 10].find(factor => factor * power >= max) ?? 10) * power
}
