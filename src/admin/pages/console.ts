import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type Page, page } from './page.ts'

/** The console: all its files, in memory. */
export interface Console {
  /** The page of a raw path; undefined if the path is not below `/console/`. */
  pageAt(path: string): Page | undefined
}

/** Where `/` leads browsers, and where the console begins. */
export const CONSOLE_PATH = '/console/'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.md': 'text/markdown; charset=utf-8',
}

/**
 * Only files of this server, nothing inline, and no text becomes a script: a name in the configuration or an answer of
 * an upstream cannot run anything (W3C Trusted Types).
 */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
} as const
/** The name of an asset changes with its content. */
const IMMUTABLE = { ...HEADERS, 'cache-control': 'public, max-age=31536000, immutable' } as const

const compressed = promisify(gzip)

/** Reads and compresses all files once, so that an upgrade on disk does not change a running server. */
export async function readConsole(): Promise<Console> {
  const index = createRequire(import.meta.url).resolve('#console/index.html')
  const folder = dirname(index)
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter(file =>
    file.isFile(),
  )
  const pages = new Map(
    await Promise.all(
      files.map(async file => {
        const path = join(file.parentPath, file.name)
        const url = CONSOLE_PATH + path.slice(folder.length + 1).replaceAll('\\', '/')
        return [url, await consolePage(path, url)] as const
      }),
    ),
  )
  const start = pages.get(`${CONSOLE_PATH}index.html`)
  return {
    pageAt(path) {
      if (!path.startsWith(CONSOLE_PATH)) return undefined
      const found = pages.get(path)
      // The routes of the console are its own: all have the same page.
      return found ?? (path.startsWith(`${CONSOLE_PATH}assets/`) ? undefined : start)
    },
  }
}

async function consolePage(path: string, url: string): Promise<Page> {
  const bytes = await readFile(path)
  const headers = url.startsWith(`${CONSOLE_PATH}assets/`) ? IMMUTABLE : HEADERS
  return {
    ...page(TYPES[extname(path)] ?? 'application/octet-stream', bytes, headers),
    gzip: await compressed(bytes),
  }
}
