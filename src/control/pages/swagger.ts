/** `/docs`: the document to try out, as Swagger UI shows it (https://github.com/swagger-api/swagger-ui). */
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

/** There is one server, this one; and the headings of the introduction are not the page's. */
export const SWAGGER_STYLE = `body { margin: 0 }
.swagger-ui .schemes-server-container { visibility: hidden }
.swagger-ui .info .description h1, .swagger-ui .info .renderedMarkdown h1 { font-size: 20px; margin: 24px 0 8px }
`

/**
 * Whoever logs in by "Try it out" is logged in for all that follows: a bearer token fills in the Authorize button, and
 * the CSRF token of a cookie goes along with each change. A tab that was loaded anew asks for the latter with its first
 * change, not before: nobody is asked who they are for reading.
 */
export const SWAGGER_START = `const SESSION = '/api/v1/session'
let csrfToken

async function askForCsrfToken() {
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
    const bears = Object.keys(request.headers).some(name => name.toLowerCase() === 'authorization')
    const isLogIn = request.method === 'POST' && new URL(request.url, location).pathname === SESSION
    if (!isChange || bears || isLogIn) return request
    csrfToken ??= await askForCsrfToken()
    if (csrfToken) request.headers['x-csrf-token'] = csrfToken
    // An operation without a body is a change by cookie all the same.
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
