// @ts-check
/**
 * Copies what `/docs` and `/redoc` show into `dist/pages`, with its licences: who installs gw gets these few files and
 * not the packages that they come from (docs/decisions/0021-install-scripts.md).
 */
import { copyFile, mkdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TARGET = join(ROOT, 'dist/pages')

/** Source in `node_modules`, and the name where its own does not say whose it is. */
const FILES = {
  'swagger-ui-dist/swagger-ui.css': undefined,
  'swagger-ui-dist/swagger-ui-bundle.js': undefined,
  'swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt': undefined,
  'swagger-ui-dist/favicon-32x32.png': undefined,
  'swagger-ui-dist/LICENSE': 'swagger-ui.LICENSE.txt',
  'swagger-ui-dist/NOTICE': 'swagger-ui.NOTICE.txt',
  'redoc/bundles/redoc.standalone.js': undefined,
  'redoc/bundles/redoc.standalone.js.LICENSE.txt': undefined,
  'redoc/LICENSE': 'redoc.LICENSE.txt',
}

await rm(TARGET, { recursive: true, force: true })
await mkdir(TARGET, { recursive: true })
for (const [from, name] of Object.entries(FILES)) {
  await copyFile(join(ROOT, 'node_modules', from), join(TARGET, name ?? basename(from)))
}
