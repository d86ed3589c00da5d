/** The icons of the console: one stroke, 16 by 16, without meaning for screen readers. */
const PATHS = {
  overview: 'M2 9h5V2H2zM9 14h5V7H9zM2 14h5v-3H2zM9 5h5V2H9z',
  endpoints: 'M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.01M4.5 11h.01',
  nodes: 'M8 2v4M8 6 3.500 10M8 6l4.500 4M2 10h3v4H2zM11 10h3v4h-3zM6.500 2h3',
  models: 'M8 1.5 14 5v6l-6 3.5L2 11V5zM2 5l6 3.5L14 5M8 8.5v6',
  keys: 'M10.5 9.5a4 4 0 1 0-3.7-2.6L2 11.7V14h2.5v-2H6v-1.5h1.5l1-1a4 4 0 0 0 2 0M11 5h.01',
  playground: 'M3 2.5v11l10-5.5z',
  why: 'M6 6a2 2 0 1 1 2.7 1.9c-.5.2-.7.6-.7 1.1v.5M8 12h.01M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13',
  calls: 'M2 4h12M2 8h12M2 12h7',
  usage: 'M2 14h12M3.5 14V9M7 14V4M10.5 14V7M14 14V2',
  tenants: 'M2 14V3.5L8 2v12M8 6h6v8M4.5 6h1M4.5 9h1M11 9h.5M11 11.5h.5M1 14h14',
  config: 'M3 2h6l4 4v8H3zM9 2v4h4M5.5 9h5M5.5 11.5h5',
  plan: 'M5 2v6M2 5h6M9 12h5M12 3 4 13',
  history: 'M2.5 8a5.5 5.5 0 1 0 1.7-4M2.5 2v2.5H5M8 5v3l2 1.5',
  maintenance: 'M10 2.5a3.5 3.5 0 0 0-4.4 4.4L2 10.5 5.5 14l3.6-3.6A3.5 3.5 0 0 0 13.5 6L11 8.5 7.5 5z',
  audit: 'M4 2h8v12H4zM6 5h4M6 8h4M6 11h2',
  users:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M1.5 14c0-2.5 2-4.5 4.5-4.5s4.5 2 4.5 4.5M10.5 3a2.3 2.3 0 0 1 0 4.4M12 9.8c1.5.7 2.5 2.300 2.500 4.200',
  tokens: 'M2 4h12v8H2zM5 8h.01M8 8h.01M11 8h.01',
  setup: 'M8 2v4M8 10v4M2 8h4M10 8h4M4 4l2 2M10 10l2 2M12 4l-2 2M6 10l-2 2',
  menu: 'M2 4h12M2 8h12M2 12h12',
  close: 'M3 3l10 10M13 3 3 13',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10M10.500 10.500 14 14',
  wallet: 'M2 4h11v9H2zM2 4l9-2v2M10.500 8.500h.01',
  account: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6M2.500 14.500C2.500 11.500 5 10 8 10s5.500 1.500 5.500 4.500',
  external: 'M9 2h5v5M14 2 7 9M12 9v5H2V4h5',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
