import { bearer, forTenant, oneOf } from 'edgemcp/auth'
import { describe, expect, test } from 'vitest'
import type { Auth } from '../../worker/plugin.ts'
import { withTestUsers } from '../../worker/plugins/development/users.ts'
import { principalOf, sealPrincipal } from '../../worker/plugins/tasks/task-principal.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { Principal } from '../../worker/protocol/principal.ts'

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
const issuer = 'https://issuer.example'
const ada: Principal = { issuer, subject: 'ada', scopes: ['notes:read'], claims: {} }
const begin = async (auth?: Partial<Auth>, principal = ada) => ({
  params: {},
  capabilities: {},
  client: undefined,
  principal: await sealPrincipal(principal, auth, seals, 1000),
})

test('a task that began with reauthorize fails where the auth has none', async () => {
  await expect(principalOf(await begin({ reauthorize: (same) => same }), undefined, seals)).rejects.toThrow(
    'The task was stopped: the auth of the server no longer has reauthorize',
  )
  expect(await principalOf(await begin(), undefined, seals)).toEqual({ principal: ada, isCurrent: false })
})

test('a task goes on after reauthorize has thrown an error, also one of MCP', async () => {
  const problem = new McpError('unavailable', 'The directory does not answer')
  const throwing = bearer({ issuer, reauthorize: () => Promise.reject(problem) })
  const thrown = await principalOf(await begin(throwing), throwing, seals).catch((error) => error)
  expect(thrown).toMatchObject({ message: problem.message, cause: problem })
  // It ends a task.
  expect(thrown).not.toBeInstanceOf(McpError)
})

describe('the principal of an auth that names its issuer', () => {
  const accepting: Auth = {
    credentials: [{ header: 'X-Api-Key' }],
    authenticate: async () => undefined,
    reauthorize: (same) => same,
  }
  const named = bearer({ issuer, reauthorize: (same) => same })
  test.each<[what: string, auth: Auth]>([
    ['the only one', named],
    ['one of several', oneOf(named, accepting)],
  ])('is none of an auth that accepts any issuer, after that auth was removed: %s', async (_, auth) => {
    const begun = await begin(auth)
    expect(await principalOf(begun, auth, seals)).toEqual({ principal: ada, isCurrent: true })
    await expect(principalOf(begun, accepting, seals)).rejects.toThrow(
      `The task was stopped: This server does not accept callers of the issuer "${issuer}"`,
    )
  })
})

/** What every request needs is needed for each run, too: see `admit` of an auth. */
describe('a principal of a task', () => {
  const to = (scopes: readonly string[]) => (principal: Principal) => ({ ...principal, scopes })
  const asked: string[] = []
  const asking = (name: string) => (principal: Principal) => {
    asked.push(`${name} about ${principal.issuer}`)
    return principal
  }
  const other = bearer({ issuer: 'https://other.example', reauthorize: asking('other') })
  test.each<[what: string, auth: Auth, reason: string]>([
    ['a scope that every token needs', bearer({ issuer, requiredScopes: ['base'] }), 'Requires the scopes base'],
    [
      'such a scope any more',
      bearer({ issuer, requiredScopes: ['notes:read'], reauthorize: to([]) }),
      'Requires the scopes notes:read',
    ],
    [
      'a tenant',
      bearer({ issuer, tenantClaim: 'org', requireTenant: true }),
      'The token has no claim "org": this endpoint accepts only tokens with a tenant',
    ],
    [
      'the tenant of the endpoint',
      forTenant('acme', bearer({ issuer, tenantClaim: 'org' })),
      'The token has no claim "org": this endpoint accepts only tokens of the tenant acme',
    ],
    ['an issuer of the auth', other, `This server does not accept callers of the issuer "${issuer}"`],
    [
      'an issuer of an auth of the developer',
      { authenticate: async () => undefined, issuers: ['https://other.example'], reauthorize: asking('own') },
      `This server does not accept callers of the issuer "${issuer}"`,
    ],
    [
      'an issuer of an auth without reauthorize',
      bearer({ issuer: 'https://other.example' }),
      `This server does not accept callers of the issuer "${issuer}"`,
    ],
    [
      'an issuer of one of several auths',
      oneOf(other, bearer({ issuer: 'https://third.example', reauthorize: asking('third') })),
      `This server does not accept callers of the issuer "${issuer}"`,
    ],
    [
      'scopes that are a list',
      bearer({ issuer, reauthorize: to('notes:read' as never) }),
      'The scopes of the principal must be a list of strings, not a string',
    ],
  ])('that has not %s fails its task', async (_, auth, reason) => {
    await expect(principalOf(await begin(), auth, seals)).rejects.toThrow(`The task was stopped: ${reason}`)
    expect(asked).toEqual([])
  })

  test('has an issuer of the auth in development, too, unless it is a test user', async () => {
    const own: Auth = { authenticate: async () => undefined, issuers: ['https://other.example'] }
    const auth = withTestUsers(own, {})
    await expect(principalOf(await begin(auth), auth, seals)).rejects.toThrow(
      `The task was stopped: This server does not accept callers of the issuer "${issuer}"`,
    )
    const testUser = { ...ada, client: 'edgemcp-inspector' }
    expect((await principalOf(await begin(auth, testUser), auth, seals)).principal).toEqual(testUser)
  })

  test('is decided by the auth of its issuer', async () => {
    const own = bearer({ issuer, reauthorize: asking('own') })
    for (const auth of [oneOf(own, other), oneOf(other, own), oneOf(oneOf(other), own)]) {
      expect(await principalOf(await begin(auth), auth, seals)).toEqual({ principal: ada, isCurrent: true })
      expect(asked.splice(0)).toEqual([`own about ${issuer}`])
    }
  })

  test('has the tenant that forTenant() names', async () => {
    const auth = forTenant('acme', bearer({ issuer, reauthorize: ({ tenant: _, ...principal }) => principal }))
    const { principal } = await principalOf(await begin(auth, { ...ada, tenant: 'acme' }), auth, seals)
    expect(principal).toEqual({ ...ada, tenant: 'acme' })
  })
})
