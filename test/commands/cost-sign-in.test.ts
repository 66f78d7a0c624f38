import { readFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { doc, withSignIn } from '../../scripts/cost.ts'
import { measureSignIn, type SignInCost } from '../../scripts/cost-sign-in.ts'

let costs: SignInCost[]
beforeAll(async () => {
  costs = await measureSignIn()
}, 120_000)

const requestsFor = (operation: string) => costs.find((cost) => cost.operation === operation)?.calls

test('docs/guides/costs.md has the counted requests of sign-in', async () => {
  const document = await readFile(doc, 'utf8')
  expect(document).toBe(withSignIn(document, costs))
})

test.each([
  ['a call, the token is new to the isolate', 1],
  ['a call, the token is known', 0],
  ['`ctx.upstream()`, the first one in a minute', 1],
  ['`ctx.upstream()`, again', 0],
  ['`ctx.upstream()`, the token of the provider has expired', 1],
])('%s: %i Durable Object requests', (operation, requests) => {
  expect(requestsFor(operation)).toBe(requests)
})
