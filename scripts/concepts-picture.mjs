/** The picture of docs/concepts.md, drawn from this text: boxes on a grid, and arrows between them. */

const BOXES = {
  files: [0, 0, 'YAML files in git', 'endpoints, publications, tenants, keys'],
  store: [1, 0, 'store', 'revisions · ledger · wallets'],
  operator: [2, 0, 'operator', 'gw · REST'],
  application: [0, 1, 'application', 'OpenAI or Anthropic SDK'],
  gateway: [1, 1, 'gateway', 'snapshot · limits · routing'],
  endpoints: [2, 1, 'endpoints', 'model servers of vendors, or your own'],
}

const ARROWS = [
  ['files', 'store', 'gw apply'],
  ['operator', 'store', 'keys, credits'],
  ['store', 'gateway', 'reload'],
  ['application', 'gateway', 'key + model'],
  ['gateway', 'endpoints', 'served model'],
]

const WIDTH = 250
const HEIGHT = 84
const GAP = { x: 130, y: 90 }
const MARGIN = 20
const COLUMNS = 3
const ROWS = 2

/** One SVG for light and dark pages: its colours follow the reader's. */
export function conceptsPicture() {
  const width = 2 * MARGIN + COLUMNS * WIDTH + (COLUMNS - 1) * GAP.x
  const height = 2 * MARGIN + ROWS * HEIGHT + (ROWS - 1) * GAP.y
  const label = ARROWS.map(([from, to, text]) => `${from} to ${to}: ${text}`).join('; ')
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">
<style>
  rect { fill: #f6f8fa; stroke: #57606a }
  text { fill: #1f2328; font: 15px system-ui, sans-serif; text-anchor: middle }
  .title { font-weight: 600 }
  .small, .label { font-size: 12.5px }
  path { stroke: #57606a; fill: none; stroke-width: 1.5 }
  #head path { fill: #57606a; stroke: none }
  @media (prefers-color-scheme: dark) {
    rect { fill: #161b22; stroke: #8b949e }
    text { fill: #e6edf3 }
    path { stroke: #8b949e }
    #head path { fill: #8b949e }
  }
</style>
<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z"/></marker>
${Object.values(BOXES).map(box).join('\n')}
${ARROWS.map(arrow).join('\n')}
</svg>
`
}

function box([column, row, title, small]) {
  const { x, y } = corner(column, row)
  const middle = x + WIDTH / 2
  return `<rect x="${x}" y="${y}" width="${WIDTH}" height="${HEIGHT}" rx="8"/>
<text class="title" x="${middle}" y="${y + 37}">${title}</text>
<text class="small" x="${middle}" y="${y + 58}">${small}</text>`
}

function arrow([from, to, text]) {
  const [fromColumn, fromRow] = BOXES[from]
  const [toColumn, toRow] = BOXES[to]
  const start = corner(fromColumn, fromRow)
  const end = corner(toColumn, toRow)
  if (fromRow !== toRow) {
    const x = start.x + WIDTH / 2
    const middle = (start.y + HEIGHT + end.y) / 2
    return `${line(x, start.y + HEIGHT, x, end.y)}
<text class="label" x="${x + 30}" y="${middle + 4}">${text}</text>`
  }
  const y = start.y + HEIGHT / 2
  const [x1, x2] = fromColumn < toColumn ? [start.x + WIDTH, end.x] : [start.x, end.x + WIDTH]
  return `${line(x1, y, x2, y)}
<text class="label" x="${(x1 + x2) / 2}" y="${y - 9}">${text}</text>`
}

function line(x1, y1, x2, y2) {
  return `<path d="M${x1} ${y1} ${x2} ${y2}" marker-end="url(#head)"/>`
}

function corner(column, row) {
  return { x: MARGIN + column * (WIDTH + GAP.x), y: MARGIN + row * (HEIGHT + GAP.y) }
}
