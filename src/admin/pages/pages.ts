import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { openApi } from '../../schema/api/openapi.ts'
import { type Page, page } from './page.ts'
import { REDOC_HTML, REDOC_LOGO, REDOC_START } from './redoc.ts'
import { SWAGGER_HTML, SWAGGER_START, SWAGGER_STYLE } from './swagger.ts'

/** The API document and its pages, by raw path. */
export type Pages = ReadonlyMap<string, Page>

const HTML = 'text/html; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
const STYLE = 'text/css; charset=utf-8'

/**
 * All content comes from this server. Both pages set inline styles, and Redoc searches in a worker made from its own
 * text; neither allows scripts from elsewhere.
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
 * Reads all files of the pages once, so that an upgrade on disk does not change a running server.
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
    // Redoc would load a logo from its vendor; the replacement shows none.
    ['/redoc/redoc.standalone.js', page(SCRIPT, redocScript.replaceAll(REDOC_LOGO, 'data:,'))],
  ])
}

/** Answers GET and HEAD with the page, or with 304. */
export function sendPage(
  req: IncomingMessage,
  res: ServerResponse,
  { contentType, bytes, etag }: Page,
  headers: Readonly<Record<string, string>>,
): void {
  const own = {
    ...headers,
    'content-security-policy': POLICY,
    // Cached, but always revalidated: after an upgrade the old pages must not be shown.
    'cache-control': 'no-cache',
    etag,
  }
  if (matchesEtag(req.headers['if-none-match'], etag)) {
    res.writeHead(304, own).end()
    return
  }
  res.writeHead(200, { ...own, 'content-type': contentType, 'content-length': bytes.length })
  res.end(req.method === 'HEAD' ? undefined : bytes)
}

/** RFC 9110 §13.1.2: a weak comparison, because proxies weaken the tags of compressed bodies. */
function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = ifNoneMatch?.split(',').map(each => each.trim().replace(/^W\//, '')) ?? []
  return known.includes(etag) || known.includes('*')
}
