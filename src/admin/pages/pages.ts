import { readFile } from 'node:fs/promises'
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
const POLICY = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    'worker-src blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
}

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
    ['/openapi.json', page('application/json', JSON.stringify(openApi(version)), POLICY)],
    ['/docs', page(HTML, SWAGGER_HTML, POLICY)],
    ['/docs/start.js', page(SCRIPT, SWAGGER_START, POLICY)],
    ['/docs/style.css', page(STYLE, SWAGGER_STYLE, POLICY)],
    ['/docs/swagger-ui.css', page(STYLE, swaggerStyle, POLICY)],
    ['/docs/swagger-ui-bundle.js', page(SCRIPT, swaggerScript, POLICY)],
    ['/docs/icon.png', page('image/png', icon, POLICY)],
    ['/redoc', page(HTML, REDOC_HTML, POLICY)],
    ['/redoc/start.js', page(SCRIPT, REDOC_START, POLICY)],
    // Redoc would load a logo from its vendor; the replacement shows none.
    ['/redoc/redoc.standalone.js', page(SCRIPT, redocScript.replaceAll(REDOC_LOGO, 'data:,'), POLICY)],
  ])
}
