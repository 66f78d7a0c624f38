import { expect, test, vi } from 'vitest'
import { decide, decideAgain, type Refresh } from '../../worker/plugins/sign-in/decide.ts'
import type { IdentityProvider } from '../../worker/plugins/sign-in/providers/provider.ts'
import { userOf } from '../../worker/plugins/sign-in/user.ts'

/** Decides about a refresh of a grant, which a sign-in started at 1000. What a decision reads of its arguments. */
const decided = (provider: object, endedAt: number, isCode = false) => {
  const user = { provider: 'company', id: '1', tenant: 'globex' }
  const props = { user, tenant: 'globex', startedAt: 1000 }
  const refresh = {
    userId: 'company.1',
    clientId: 'app',
    isCode,
    props,
    scope: [],
    requestedScope: [],
  } as never as Refresh
  const named = { name: 'company', title: 'Company', ...provider } as never as IdentityProvider
  return decideAgain(
    refresh,
    {},
    [named],
    [named],
    async () => endedAt,
    async () => ({ is: 'unchanged' }),
  )
}

test.each([
  [['acme'], 'ended'],
  [['acme', 'globex'], 'granted'],
])('a provider that may state the tenants %j does not state an earlier one: a refresh is %s', async (tenants, is) => {
  expect(await decided({ tenants }, 0)).toMatchObject({ is })
})

test.each([
  [999, 'granted'],
  [1000, 'ended'],
])('a grant that signOut() has not reached is not refreshed: an end at %i, and it is %s', async (endedAt, is) => {
  for (const isCode of [false, true]) {
    expect(await decided({ tenants: ['globex'] }, endedAt, isCode)).toMatchObject({ is })
  }
})

test('scopes are looked up, and not searched for', async () => {
  const scopes = Array.from({ length: 1000 }, (_, index) => `s${index}`)
  using searching = vi.spyOn(Array.prototype, 'includes')
  const decision = await decide({}, { provider: 'company', id: '1' }, scopes)
  expect(searching.mock.calls.length).toBeLessThan(10)
  expect(decision).toMatchObject({ scopes })
})

test.each([
  [65_000, true],
  [66_000, false],
])('a user whose name has %i characters is accepted: %j', (length, isAccepted) => {
  const described = () => userOf({ id: '1', name: 'n'.repeat(length) }, { name: 'company', title: 'Company' })
  if (isAccepted) expect(described().name).toHaveLength(length)
  else expect(described).toThrow(/^Company describes a user with 66\d{3} characters: a user has at most 65536/)
})
