import { expect, test } from 'vitest'
import { UpstreamTokens } from '../../durable-objects/sign-in/upstream-tokens.ts'

test('a user whose tokens of the provider can no longer be read loses access', async () => {
  const kv = new Map([['tokens:github', 'sealed with a key that was removed']])
  // What it reads of the object and of the plugin, and no more.
  const tokens = new UpstreamTokens({ kv } as never, { open: async () => undefined } as never)
  expect(await tokens.user('github.1815', { name: 'github' } as never)).toMatchObject({ is: 'denied' })
})
