/** Stands for the API of the application, which takes the user's API token and the id of an account. */

/** Signed-in users. A real Worker has its own sign-in, or sends users to an identity provider. */
export const users: Readonly<Record<string, User>> = {
  ada: { name: 'Ada', accounts: ['acme', 'analytical', 'offline'], apiToken: 'token-of-ada' },
  bob: { name: 'Bob', accounts: ['acme'], apiToken: 'token-of-bob' },
}

type User = { readonly name: string; readonly accounts: readonly string[]; readonly apiToken: string }

const projects: Readonly<Record<string, string[]>> = { acme: ['rocket'], analytical: ['engine'] }

/** @throws Error for a token that has no access to the account, and for an account that the API cannot read */
function projectsOf(account: string, apiToken: string): string[] {
  const user = Object.values(users).find((user) => user.apiToken === apiToken)
  if (!user?.accounts.includes(account)) throw new Error('API status 403')
  const found = projects[account]
  if (!found) throw new Error(`API status 500, request ${crypto.randomUUID()}`)
  return found
}

export async function listProjects(account: string, apiToken: string): Promise<readonly string[]> {
  return projectsOf(account, apiToken)
}

export async function deleteProject(account: string, apiToken: string, name: string): Promise<void> {
  const all = projectsOf(account, apiToken)
  all.splice(0, all.length, ...all.filter((project) => project !== name))
}
