/** The messages of the calls of a request without a session. */
import { expect, test } from 'vitest'
import { CallMessages } from '../../worker/http/call-messages.ts'

test('a message that waits and one that comes later are read before the calls end', async () => {
  const messages = new CallMessages(new Request('https://mcp.example/mcp'), 1000)
  const { promise: answering, resolve: end } = Promise.withResolvers<{ status: number; text: string }>()
  messages.endWith(answering)
  messages.push('first')
  expect(await messages.next()).toEqual({ value: 'first' })
  const second = messages.next()
  messages.push('second')
  expect(await second).toEqual({ value: 'second' })
  const last = messages.next()
  end({ status: 200, text: '{}' })
  expect(await last).toEqual({ done: true, value: { status: 200, text: '{}' } })
})
