import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { openApi } from '../../schema/api/openapi.ts'
import { type Page, page } from './page.ts'
import { REDOC_HTML, REDOC_LOGO, REDOC_START } from './redoc.ts'
import { SWAGGER_HTML, SWAGGER_START, SWAGGER_STYLE } from './swagger.ts'

/** The document of the control plane and the pages that show it, by raw path. */
export type Pages = ReadonlyMap<string, Page>

const HTML = 'text/html; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
const STYLE = 'text/css; charset=utf-8'

/**
 * Everything comes from here and nothing else is fetched. Both pages style elements while they run, and Redoc searches
 * in a worker that it makes of its own text: neither lets a script in that was not served from here.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  'worker-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * Reads all that the pages need, once: what is served later is what was there at the start.
 *
 * @param version of gw, for the document.
 */
export async function readPages(version: string): Promise<Pages> {
  const { resolve } = createRequire(import.meta.url)
  const [swaggerStyle, swaggerScript, icon, redocScript] = await Promise.all([
    readFile(resolve('#pages/swagger-ui.css')),
    readFile(resolve('#pages/swagger-ui-bundle.js')),
    readFile(resolve('#pages/favicon-32x32.png')),
    readFile(resolve('#pages/redoc.standalone.js'), 'utf8'),
  ])
  return new Map([
    ['/openapi.json', page('application/json', JSON.stringify(openApi(version)))],
    ['/docs', page(HTML, SWAGGER_HTML)],
    ['/docs/start.js', page(SCRIPT, SWAGGER_START)],
    ['/docs/style.css', page(STYLE, SWAGGER_STYLE)],
    ['/docs/swagger-ui.css', page(STYLE, swaggerStyle)],
    ['/docs/swagger-ui-bundle.js', page(SCRIPT, swaggerScript)],
    ['/docs/icon.png', page('image/png', icon)],
    ['/redoc', page(HTML, REDOC_HTML)],
    ['/redoc/start.js', page(SCRIPT, REDOC_START)],
    // It would ask its vendor for a picture; where that is missing it shows none.
    ['/redoc/redoc.standalone.js', page(SCRIPT, redocScript.replaceAll(REDOC_LOGO, 'data:,'))],
  ])
}

/** Answers GET and HEAD with a page, or that the browser has it already. */
export function sendPage(
  req: IncomingMessage,
  res: ServerResponse,
  { contentType, bytes, etag }: Page,
  headers: Readonly<Record<string, string>>,
): void {
  const own = {
    ...headers,
    'content-security-policy': POLICY,
    // Kept, but never used unasked: after an upgrade the pages must not be those of the gw before.
    'cache-control': 'no-cache',
    etag,
  }
  if (knows(req.headers['if-none-match'], etag)) {
    res.writeHead(304, own).end()
    return
  }
  res.writeHead(200, { ...own, 'content-type': contentType, 'content-length': bytes.length })
  res.end(req.method === 'HEAD' ? undefined : bytes)
}

/** RFC 9110 §13.1.2: compared weakly, because proxies weaken what they compress. */
function knows(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = ifNoneMatch?.split(',').map(each => each.trim().replace(/^W\//, '')) ?? []
  return known.includes(etag) || known.includes('*')
}
