import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/** Makes `dist/console`, which the control plane serves below `/console/`. Nothing is loaded from another host. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2023',
    // The policy of the console allows no inline content.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licences.md' },
    reportCompressedSize: false,
    rolldownOptions: {
      // `use client` of packages means nothing here.
      onLog(level, log, handle) {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log)
      },
    },
  },
})
