import { expect, test } from 'vitest'
import { ipv6Groups, isMetadataAddress } from '../../src/base/ip-address.ts'
import { KINDS } from '../../src/schema/kinds.ts'

const METADATA = [
  '169.254.169.254',
  '169.254.0.1',
  '100.100.100.200',
  'fe80::1',
  'febf::1%eth0',
  'fd00:ec2::254',
  'fd00:0ec2:0:0:0:0:0:254',
  '::169.254.169.254',
  '::a9fe:a9fe',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '::FFFF:100.100.100.200',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::a9fe:a9fe',
  '64:ff9b::6464:64c8',
  '2002:a9fe:a9fe::',
  '2002:a9fe:a9fe:1::2',
  '2002:6464:64c8::1',
]

const OTHERS = [
  '127.0.0.1',
  '10.0.0.1',
  '100.100.100.201',
  '169.253.1.1',
  '::1',
  'fd00::1',
  'fec0::1',
  '64:ff9b::8.8.8.8',
  '2002:0808:0808::1',
  '2001:db8::a9fe:a9fe',
  '::ffff:10.0.0.1',
]

test.each(METADATA)('%s is where a cloud serves metadata, and no base_url', address => {
  expect(isMetadataAddress(address)).toBe(true)
  if (address.includes('%')) return
  const host = address.includes(':') ? `[${address}]` : address
  const endpoint = { protocol: 'openai', served_model: 'm', base_url: `http://${host}/v1` }
  expect(KINDS.endpoint.safeParse(endpoint).success).toBe(false)
})

test.each(OTHERS)('%s is none', address => {
  expect(isMetadataAddress(address)).toBe(false)
})

test.each(['0xa9fea9fe', '2852039166', '169.254.43518', '0251.0376.0251.0376'])(
  'the spelling %s of one is no base_url, either',
  host => {
    const endpoint = { protocol: 'openai', served_model: 'm', base_url: `http://${host}/v1` }
    expect(KINDS.endpoint.safeParse(endpoint).success).toBe(false)
  },
)

test.each(['::1::2', '1:2:3', '1:2:3:4:5:6:7:8:9', 'x::1', '1.2.3.4', 'host:1', '::256.1.1.1'])(
  '%s is no IPv6 address',
  text => expect(ipv6Groups(text)).toBeUndefined(),
)
