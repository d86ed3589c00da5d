/** `/redoc`: the API document for reading, with Redoc (https://github.com/Redocly/redoc). */
export const REDOC_HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>gw control plane</title>
    <link rel="icon" type="image/png" href="/docs/icon.png">
    <style>body { margin: 0 }</style>
  </head>
  <body>
    <div id="redoc"></div>
    <script src="/redoc/redoc.standalone.js"></script>
    <script src="/redoc/start.js"></script>
  </body>
</html>
`

/** The logo that Redoc loads from its vendor. */
export const REDOC_LOGO = 'https://cdn.redoc.ly/redoc/logo-mini.svg'

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
const CODE_FONT = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace'

/** System fonts only: no request to a font server. */
export const REDOC_START = `Redoc.init(
  '/openapi.json',
  {
    expandResponses: '200,201',
    jsonSamplesExpandLevel: 3,
    schemasExpansionLevel: 1,
    sortRequiredPropsFirst: true,
    theme: {
      typography: {
        fontFamily: '${FONT}',
        headings: { fontFamily: '${FONT}' },
        code: { fontFamily: '${CODE_FONT}' },
      },
    },
  },
  document.getElementById('redoc'),
)
`
