import process from 'node:process'

/** `postgres` in `npm run postgres`, see `vitest.postgres.config.ts`. */
export const TEST_ENGINE = process.env['GW_TEST_ENGINE']
