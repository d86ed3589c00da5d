import { type Page, page } from './page.ts'

/** It loads nothing. */
const POLICY = { 'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'" }

/** The page at `/`: a description of the control plane, with links. */
export function welcomePages({
  hasConsole,
  hasDocs,
}: {
  readonly hasConsole: boolean
  readonly hasDocs: boolean
}): { readonly html: Page; readonly json: Page } {
  const links = {
    ...(hasConsole && { console: '/console/' }),
    health: '/health',
    api: '/api/v1',
    ...(hasDocs && { openapi: '/openapi.json', docs: '/docs', redoc: '/redoc' }),
  }
  const about = {
    service: 'gw control plane',
    links,
    log_in:
      'POST /api/v1/session with a user and a password; the first user: `gw users create NAME --role admin`.',
    inference: 'Applications call the gateway, at its own address: 127.0.0.1:8090 by default.',
    ...(!hasDocs && { documents: 'SERVICE_DOCS_ENABLED=true in the environment of `gw serve` adds /docs.' }),
  }
  return {
    html: page('text/html; charset=utf-8', html(Object.values(links), hasDocs), POLICY),
    json: page('application/json', `${JSON.stringify(about, null, 2)}\n`, POLICY),
  }
}

/** Whether the client prefers HTML (RFC 9110 §12.5.1, simplified). */
export function wantsHtml(accept: string | undefined): boolean {
  return accept?.includes('text/html') === true
}

function html(links: readonly string[], hasDocs: boolean): string {
  const items = links
    .filter(link => link !== '/api/v1')
    .map(link => `<li><a href="${link}">${link}</a></li>`)
    .join('')
  const more = hasDocs
    ? ''
    : '<p>With <code>SERVICE_DOCS_ENABLED=true</code> in the environment of <code>gw serve</code> the API is described at <code>/docs</code>.</p>'
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>gw control plane</title>
<meta name="viewport" content="width=device-width"></head><body>
<h1>gw control plane</h1>
<p>Administration of the gateway, by REST below <code>/api/v1</code>. Applications call the gateway at its own address,
<code>127.0.0.1:8090</code> by default.</p>
<ul>${items}</ul>
<p>The first user: <code>gw users create NAME --role admin</code>. For the command line: <code>gw login --user NAME</code>.</p>
${more}
</body></html>
`
}
