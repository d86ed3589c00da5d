import { expect, test } from 'vitest'
import { destinationOf } from '../../src/schema/stored-credential.ts'

const base_url = 'https://api.example.com/v1'
const proxy = 'http://proxy:3128'
const ca = { file: '/ca.pem' }

test('an authority of its own is part of a destination, and a proxy that could use it', () => {
  const plain = destinationOf({ base_url })
  expect(destinationOf({ base_url, proxy })).toBe(plain)
  expect(destinationOf({ base_url, tls: { cert: ca, key: ca } })).toBe(plain)
  const trusting = destinationOf({ base_url, tls: { ca } })
  expect(trusting).not.toBe(plain)
  expect(destinationOf({ base_url, proxy, tls: { ca } })).not.toBe(trusting)
})

test('a private key is for the connection, not for a header', () => {
  expect(destinationOf({ base_url }, 'tls.key')).not.toBe(destinationOf({ base_url }, 'upstream_key'))
  expect(destinationOf({ base_url }, 'headers.x')).toBe(destinationOf({ base_url }, 'upstream_key'))
})
