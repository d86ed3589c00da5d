import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { tlsMaterial, tlsProblems } from '../../src/base/tls-material.ts'
import { certificate } from '../support/certificate.ts'

const authority = certificate({ names: ['authority'], isAuthority: true })
const own = certificate({ names: ['client'], issuer: authority })
const other = certificate({ names: ['other'] })
const encrypted = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'p' },
}).privateKey
const none = { ca: undefined, cert: undefined, key: undefined }
const cut = own.cert.replace(/.{80}(?=\n-----END)/s, '')

test.each([
  [{ ca: authority.cert }, []],
  [{ ca: `Subject: CN=a\n${authority.cert}\r\n${other.cert}` }, []],
  [{ cert: own.cert + authority.cert, key: own.key }, []],
  [{ ca: '' }, ['tls.ca contains no valid certificate in PEM']],
  [{ ca: authority.cert + cut }, ['tls.ca contains no valid certificate in PEM']],
  [{ ca: own.key }, ['tls.ca contains no valid certificate in PEM']],
  [
    { cert: cut, key: 'sk-no-key' },
    ['tls.cert contains no valid certificate in PEM', 'tls.key contains no valid private key in PEM'],
  ],
  [{ cert: own.cert, key: own.cert }, ['tls.key contains no valid private key in PEM']],
  [{ cert: own.cert, key: encrypted }, ['tls.key is encrypted, and there is no passphrase']],
  [
    { cert: own.cert, key: other.key },
    ['tls.key is not the private key of the first certificate in tls.cert'],
  ],
  [
    { cert: authority.cert + own.cert, key: own.key },
    ['tls.key is not the private key of the first certificate in tls.cert'],
  ],
])('PEM texts are checked, each with its field: %#', (pem, problems) => {
  expect(tlsProblems({ ...none, ...pem })).toEqual(problems)
})

test('the id is equal for equal texts only, and contains none', () => {
  const material = tlsMaterial({ ...none, cert: own.cert, key: own.key })
  expect(tlsMaterial({ ...none, cert: own.cert, key: own.key }).id).toBe(material.id)
  expect(tlsMaterial({ ...none, cert: own.cert, key: other.key }).id).not.toBe(material.id)
  expect(tlsMaterial({ ...none, ca: own.cert }).id).not.toBe(tlsMaterial({ ...none, cert: own.cert }).id)
  expect(material.id).toMatch(/^[0-9a-f]{64}$/)
})
