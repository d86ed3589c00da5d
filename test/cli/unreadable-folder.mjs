/** Preloaded with `node --import`: no folder can be read, as where a user has no right to it (root always has). */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

fs.promises.readdir = path =>
  Promise.reject(
    Object.assign(new Error(`EACCES: permission denied, scandir '${String(path)}'`), { code: 'EACCES' }),
  )
syncBuiltinESMExports()
