/**
 * `github()`: signs users in with GitHub, which knows OAuth 2.0 without OpenID Connect.
 *
 * @see https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 */
import { checkOptions, type KindsOf } from '../../../declarations/check-options.ts'
import * as kind from '../../../declarations/option-kinds.ts'
import { type ClientOptions, clientKinds, url } from './client-options.ts'
import { oauth2 } from './oauth2.ts'
import { AccessDenied, type IdentityProvider, UnexpectedStatus, type UserProfile } from './provider.ts'

/** Configures `github()`. */
export type GitHubOptions = ClientOptions & {
  /**
   * Logins of organizations of which the user must be a member, in any of them. Asks for the scope `read:org`, and sets the groups of the
   * user to these organizations. Default: every user may sign in.
   */
  organizations?: readonly string[]
  /** URL of GitHub Enterprise Server, such as `https://github.example.com`. Default: `https://github.com`. */
  url?: string
  /** URL of its API. Default: `https://api.github.com` for `https://github.com`, and the path `/api/v3` of another `url`. */
  apiUrl?: string
}

const kinds: KindsOf<GitHubOptions> = {
  ...clientKinds,
  organizations: kind.strings,
  url,
  apiUrl: url,
}

/**
 * GitHub leaves out of its response what another granted scope includes.
 *
 * @see https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps
 */
const impliedScopes = {
  repo: ['repo:status', 'repo_deployment', 'public_repo', 'repo:invite', 'security_events'],
  user: ['read:user', 'user:email', 'user:follow'],
  'admin:org': ['write:org', 'manage_runners:org'],
  'write:org': ['read:org'],
  'admin:repo_hook': ['write:repo_hook'],
  'write:repo_hook': ['read:repo_hook'],
  'admin:public_key': ['write:public_key'],
  'write:public_key': ['read:public_key'],
  'admin:gpg_key': ['write:gpg_key'],
  'write:gpg_key': ['read:gpg_key'],
  'write:packages': ['read:packages'],
  'write:discussion': ['read:discussion'],
  project: ['read:project'],
  codespace: ['codespace:secrets'],
}

const publicSite = 'https://github.com'

/**
 * Creates the provider GitHub. Register an OAuth app or a GitHub App, with the callback `https://<your host>/oauth/callback/github`.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/creating-an-oauth-app
 *
 * @example
 * serve(server, { auth: signIn({ with: github({ clientId: env.GITHUB_ID, clientSecret: env.GITHUB_SECRET }) }) })
 */
export function github(options: GitHubOptions): IdentityProvider {
  checkOptions('github()', options, kinds)
  const { organizations, url: site = publicSite, apiUrl, ...client } = options
  const api = apiUrl ?? (site === publicSite ? 'https://api.github.com' : `${site}/api/v3`)
  return oauth2({
    name: 'github',
    title: 'GitHub',
    scopes: ['read:user', 'user:email', ...(organizations ? ['read:org'] : [])],
    ...client,
    impliedScopes: { ...impliedScopes, ...client.impliedScopes },
    authorizationUrl: `${site}/login/oauth/authorize`,
    tokenUrl: `${site}/login/oauth/access_token`,
    async user(_, get): Promise<UserProfile> {
      // Its API has this shape.
      const { id, login, name } = (await get(`${api}/user`)) as { id: unknown; login: string; name: string | null }
      if (typeof id !== 'number') throw new Error(`${site} named no user`)
      const groups =
        organizations &&
        (await memberships(organizations, (page) => get(`${api}/user/orgs?per_page=${perPage}&page=${page}`)))
      const email = await primaryEmail(() => get(`${api}/user/emails`))
      return { id, login, name: name ?? login, ...email, ...(groups && { groups }) }
    },
  })
}

/** Organizations of a page, and pages that are read. */
const [perPage, mostPages] = [100, 10]

/** @throws AccessDenied for a user who is in none of the organizations */
async function memberships(
  organizations: readonly string[],
  get: (page: number) => Promise<unknown>,
): Promise<readonly string[]> {
  const own = new Set<string>()
  for (let page = 1, isLast = false; !isLast && page <= mostPages; page++) {
    // Its API has this shape.
    const listed = (await get(page)) as { login: string }[]
    for (const { login } of listed) own.add(login.toLowerCase())
    isLast = listed.length < perPage
  }
  const groups = organizations.filter((organization) => own.has(organization.toLowerCase()))
  if (groups.length > 0) return groups
  throw new AccessDenied(`You are not a member of ${organizations.join(' or ')} on GitHub.`)
}

/** Returns the primary address; nothing when the scope for it was not granted. @throws what an API that fails throws */
async function primaryEmail(get: () => Promise<unknown>): Promise<Pick<UserProfile, 'email' | 'emailVerified'>> {
  // Its API has this shape.
  const emails = (await get().catch(emptyWithoutScope)) as { email: string; primary: boolean; verified: boolean }[]
  const primary = emails.find((email) => email.primary)
  return primary ? { email: primary.email, emailVerified: primary.verified } : {}
}

/**
 * Returns an empty list for the answer to a token without a scope. An API that fails must not make the user one without an address, whom
 * `allow` refuses.
 *
 * @see https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
 */
function emptyWithoutScope(problem: unknown): [] {
  if (!(problem instanceof UnexpectedStatus)) throw problem
  const { status, headers } = problem
  const isRateLimit = headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0'
  if (status === 404 || (status === 403 && !isRateLimit)) return []
  throw problem
}
