/** Servers for tests of `discovery()`, by the first label of the host name. None has Durable Objects. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { bearer, tenants } from 'edgemcp/auth'
import { combine } from 'edgemcp/compose'
import { discovery } from 'edgemcp/discovery'
import { extension } from 'edgemcp/extensions'
import { page } from 'edgemcp/page'
import { type Skill, skills } from 'edgemcp/skills'
import { kitchen } from '../../extensions/generated/kitchen.ts'

const secrets: Readonly<Record<string, unknown>> = { ...env }
const textOf = (name: string) => (typeof secrets[name] === 'string' ? secrets[name] : undefined)

const weather = createServer({
  name: 'weather',
  title: 'Weather',
  version: '1.2.0',
  description: 'Forecasts for every town',
  websiteUrl: 'https://weather.example',
  icons: [{ src: 'https://weather.example/icon.png', mimeType: 'image/png', sizes: ['48x48'] }],
  instructions: 'Ask for the town',
})
weather.tool('forecast', { description: 'Returns a forecast' }, () => 'Rain')

/** A server whose every text would like to be a header or markup. */
const hostile = createServer({
  name: 'a"\r\nX-Injected: 1, <b>ü',
  title: 'Wetter\r\nSet-Cookie: a=b; "ü"',
  version: '1.0.0"\r\n',
  description: '</script>"\n☔',
})

const privateSkill: Skill = {
  folder: 'private-skill',
  frontmatter: { name: 'private-skill', description: 'Private skill' },
  files: [{ path: 'SKILL.md', digest: `sha256:${'0'.repeat(64)}`, size: 7, text: 'Private' }],
}

/** Everything of it needs a token. */
const vault = createServer({
  name: 'vault',
  version: '7.6.5',
  instructions: 'Private instructions',
  experimental: { 'com.example/private': { member: 'private' } },
}).use(extension('com.example/private', { settings: { member: 'private' } }))
vault.tool('private_tool', { description: 'Private tool' }, () => 'private')
vault.prompt('private_prompt', { description: 'Private prompt' }, () => 'private')
vault.use(skills([privateSkill], { scopes: ['vault'] }))
vault.resource('private://resource', { description: 'Private resource' }, () => 'private')

const cook = createServer({ name: 'cook', version: '1.0.0', description: 'Cooks' })
cook.use(skills([...kitchen, privateSkill]))
cook.resource('recipe://tea', { description: 'Tea' }, () => 'Boil water')
const lockedCook = createServer({ name: 'locked', version: '1.0.0' })
const fixed = createServer({ name: 'com.example/notes', version: '1.0.0' })

const auth = bearer({ issuer: 'https://auth.example.com' })

const workers = {
  weather: serve(weather, {
    plugins: [
      page(),
      discovery({
        name: 'com.example/weather',
        repository: { url: 'https://github.com/example/weather', source: 'github' },
        maxAge: '10m',
        registryAuth: 'v=MCPv1; k=ed25519; p=dDPntUqj6p/AMlBM7X+r4cDTLkVnBNr5bcwtTvP2aNE=',
        openAiChallenge: textOf('OPENAI_CHALLENGE'),
      }),
    ],
  }),
  hostile: serve(hostile, { plugins: [page(), discovery({ name: 'com.example/hostile' })] }),
  vault: serve(vault, { auth, plugins: [page(), discovery({ name: 'com.example/vault' })] }),
  cook: serve(cook, { plugins: [page(), discovery({ name: 'com.example/cook', skills: kitchen })] }),
  locked: serve(lockedCook, {
    auth: bearer({ issuer: 'https://auth.example.com', allowAnonymous: true }),
    plugins: [discovery({ name: 'com.example/locked' })],
  }),
  pair: combine(
    serve(fixed, {
      path: '/notes/mcp',
      plugins: [
        discovery({
          name: 'com.example/notes',
          origin: 'https://mcp.example.com',
          otherEndpoints: [{ name: 'weather', path: '/weather/mcp' }],
        }),
      ],
    }),
    serve(weather, {
      path: '/weather/mcp',
      plugins: [discovery({ name: 'com.example/weather', origin: 'https://mcp.example.com' })],
    }),
  ),
  tenant: serve(cook, {
    tenants: tenants('{tenant}.tenant.localhost', (tenant) =>
      tenant === 'acme' ? { auth, allowMissingClaim: true } : undefined,
    ),
    plugins: [discovery({ name: 'com.example/cook', skills: kitchen })],
  }),
}

const isKnown = (name: string): name is keyof typeof workers => Object.hasOwn(workers, name)

export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const name = new URL(request.url).hostname.split('.').at(-2) ?? ''
    const worker = isKnown(name) ? workers[name] : workers.weather
    // Each of them accepts the request of this Worker.
    return worker.fetch(request as never, env as never, ctx as never) as unknown as Response
  },
}
