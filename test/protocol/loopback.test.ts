import { expect, test } from 'vitest'
import { isLoopback, isLoopbackAddress } from '../../worker/protocol/loopback.ts'

test.each(['localhost', 'app.localhost', 'a.b.localhost', '127.0.0.1', '127.255.0.9', '[::1]'])(
  'the host %s is a loopback host',
  (hostname) => {
    expect(isLoopback(hostname)).toBe(true)
  },
)

test.each([
  '',
  '.localhost',
  'example.com',
  'localhost.example.com',
  'notlocalhost',
  '127.0.0.1.example.com',
  '128.0.0.1',
  '[::2]',
  '0.0.0.0',
])('the host "%s" is not a loopback host', (hostname) => {
  expect(isLoopback(hostname)).toBe(false)
})

test.each(['127.0.0.1', '127.255.0.9', '::1', '::ffff:127.0.0.1', '::FFFF:127.0.0.1'])(
  'the address %s is a loopback address',
  (address) => {
    expect(isLoopbackAddress(address)).toBe(true)
  },
)

test.each(['', 'localhost', '[::1]', '127.0.0.1.example.com', '128.0.0.1', '::2', '::ffff:10.0.0.1', '1::1'])(
  'the address "%s" is not a loopback address',
  (address) => {
    expect(isLoopbackAddress(address)).toBe(false)
  },
)
