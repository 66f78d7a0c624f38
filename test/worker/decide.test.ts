import { expect, test } from 'vitest'
import { decideAgain, type OwnRefresh } from '../../worker/plugins/sign-in/decide.ts'
import type { IdentityProvider } from '../../worker/plugins/sign-in/providers/provider.ts'

test.each([
  [['acme'], 'ended'],
  [['acme', 'globex'], 'granted'],
])('a provider that may state the tenants %j does not state an earlier one: a refresh is %s', async (tenants, is) => {
  const user = { provider: 'company', id: '1', tenant: 'globex' }
  const refresh = { userId: 'company.1', props: { user, tenant: 'globex' }, scope: [], requestedScope: [] }
  const provider = { name: 'company', title: 'Company', tenants }
  const ask = async () => ({ is: 'unchanged' }) as const
  // What a decision reads of them.
  const decided = await decideAgain(refresh as never as OwnRefresh, {}, [provider as never as IdentityProvider], ask)
  expect(decided).toMatchObject({ is })
})
