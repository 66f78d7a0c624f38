import { expect, test } from 'vitest'
import { principalOf, sealPrincipal } from '../../worker/plugins/tasks/task-principal.ts'
import { admitted } from './session-post.ts'

test('a task of an endpoint with reauthorize fails when the endpoint is unknown where it runs', async () => {
  const sealed = new Map<string, unknown>()
  const seals = {
    identity: 'test',
    seal: async (_: string, value: unknown) => {
      sealed.set('sealed', value)
      return 'sealed'
    },
    createId: async () => '',
    open: async (_: string, text: string) => sealed.get(text),
  }
  const principal = { issuer: 'https://issuer.example', subject: 'ada', scopes: [], claims: {} }
  const begin = async (isReauthorized: boolean) => ({
    params: {},
    capabilities: {},
    client: undefined,
    identity: 'test',
    admitted,
    principal: await sealPrincipal(principal, { storedClaims: [], isReauthorized }, seals, 1000),
  })
  await expect(principalOf(await begin(true), undefined, seals)).rejects.toThrow(
    'The task was stopped: this isolate has not created its endpoint, whose auth has reauthorize. Give tasks({ auth })',
  )
  expect(await principalOf(await begin(false), undefined, seals)).toEqual({ principal, isCurrent: false })
})
