/** `/docs`: the API document for trying out, with Swagger UI (https://github.com/swagger-api/swagger-ui). */
export const SWAGGER_HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>gw control plane</title>
    <link rel="icon" type="image/png" href="/docs/icon.png">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="stylesheet" href="/docs/style.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`

/** Hides the server list, because this is the only server, and shrinks the headings of the introduction. */
export const SWAGGER_STYLE = `body { margin: 0 }
.swagger-ui .schemes-server-container { visibility: hidden }
.swagger-ui .info .description h1, .swagger-ui .info .renderedMarkdown h1 { font-size: 20px; margin: 24px 0 8px }
`

/**
 * A log-in through "Try it out" applies to all later requests: a bearer token is filled into the Authorize button, and
 * the CSRF token of a cookie is sent with each change. A reloaded tab fetches the CSRF token before its first change,
 * because reads do not need it.
 */
export const SWAGGER_START = `const SESSION = '/api/v1/session'
let csrfToken

async function fetchCsrfToken() {
  const answer = await fetch(SESSION)
  return answer.ok ? (await answer.json()).csrf_token : undefined
}

const ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  validatorUrl: null,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  defaultModelRendering: 'model',
  displayRequestDuration: true,
  filter: true,
  tryItOutEnabled: true,
  requestSnippetsEnabled: false,
  async requestInterceptor(request) {
    const isChange = !['GET', 'HEAD'].includes(request.method?.toUpperCase() ?? 'GET')
    const hasToken = Object.keys(request.headers).some(name => name.toLowerCase() === 'authorization')
    const isLogIn = request.method === 'POST' && new URL(request.url, location).pathname === SESSION
    if (!isChange || hasToken || isLogIn) return request
    csrfToken ??= await fetchCsrfToken()
    if (csrfToken) request.headers['x-csrf-token'] = csrfToken
    // Without a body, a change by cookie must be application/json, too.
    request.headers['Content-Type'] ??= 'application/json'
    return request
  },
  responseInterceptor(response) {
    const { pathname } = new URL(response.url, location)
    if (pathname === SESSION && response.status === 201) {
      csrfToken = response.obj?.csrf_token
      if (response.obj?.token) ui.preauthorizeApiKey('bearer', response.obj.token)
    }
    if (response.status === 401) csrfToken = undefined
    return response
  },
})
`
