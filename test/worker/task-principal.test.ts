import { expect, test } from 'vitest'
import { principalOf, sealPrincipal } from '../../worker/plugins/tasks/task-principal.ts'

test('a task that began with reauthorize fails where the auth has none', async () => {
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
    principal: await sealPrincipal(
      principal,
      isReauthorized ? { reauthorize: (same) => same } : undefined,
      seals,
      1000,
    ),
  })
  await expect(principalOf(await begin(true), undefined, seals)).rejects.toThrow(
    'The task was stopped: the auth of the server no longer has reauthorize',
  )
  expect(await principalOf(await begin(false), undefined, seals)).toEqual({ principal, isCurrent: false })
})
