// Stands in for GitHub on this machine, for `npm run dev`: npm run provider. The first run writes .dev.vars.
import { existsSync, writeFileSync } from 'node:fs'
import { startProvider } from 'edgemcp/testing/node'

const provider = await startProvider({
  port: 8788,
  users: [
    { id: 1815, login: 'ada', name: 'Ada Lovelace', organizations: ['acme'] },
    { id: 1906, login: 'grace', name: 'Grace Hopper', organizations: ['acme', 'globex'] },
    { id: 666, login: 'eve', name: 'Eve', organizations: [] },
  ],
})
if (!existsSync('.dev.vars')) {
  const { url, clientId, clientSecret } = provider
  writeFileSync('.dev.vars', `GITHUB_URL=${url}\nGITHUB_ID=${clientId}\nGITHUB_SECRET=${clientSecret}\n`)
  console.log('Wrote .dev.vars, which selects this provider: delete the file to sign in with GitHub.')
}
console.log(
  `The provider listens on ${provider.url}, with the users ${provider.users.map(({ login }) => login).join(', ')}.`,
)
