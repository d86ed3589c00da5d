import { existsSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { mintIntoFiles } from '../../src/services/secret-files.ts'
import { fillUp, smallDisk } from '../support/small-disk.ts'

const PAGE_BYTES = 4_096

test('a disk that is full in the middle takes away no secret that was written', async ({ skip }) => {
  const disk = smallDisk(onTestFinished)
  if (disk instanceof Error) return skip(disk.message)
  const filler = join(disk, 'filler')
  const mint = async () => {
    // The secrets are valid from here on. There is room for one of them.
    fillUp(filler)
    truncateSync(filler, statSync(filler).size - PAGE_BYTES)
    return [
      { key: 'one', secret: 'gw_one' },
      { key: 'two', secret: 'gw_two' },
    ]
  }
  await expect(mintIntoFiles('secrets', ['one', 'two'], disk, mint)).rejects.toMatchObject({
    code: 'file_exists',
    hint: expect.stringContaining('secrets of two are lost'),
  })
  expect(readFileSync(join(disk, 'secrets/one.key'), 'utf8')).toBe('gw_one\n')
  expect(existsSync(join(disk, 'secrets/two.key'))).toBe(false)
})
