/**
 * A page with a client in it. Sending its user to the authorization server ends the page, so what the client knows is in the
 * session storage, and so is what its user wanted.
 */
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client'

type Wish = { name: string; arguments: Record<string, string> }

const { server, mode, headers, read } = (await (await fetch('/settings')).json()) as {
  server: string
  mode: VersionNegotiationMode
  headers?: Record<string, string>
  read?: Wish
}

const kept = <T>(name: string): T | undefined => JSON.parse(sessionStorage.getItem(name) ?? 'null') ?? undefined
const keep = (name: string, value: unknown) => sessionStorage.setItem(name, JSON.stringify(value))
const redirectUrl = `${location.origin}/`

const authProvider: OAuthClientProvider = {
  redirectUrl,
  clientMetadata: { client_name: 'A page', redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none' },
  state: () => {
    keep('state', crypto.randomUUID())
    return kept('state') as string
  },
  clientInformation: () => kept('client'),
  saveClientInformation: (client) => keep('client', client),
  tokens: () => kept('tokens'),
  saveTokens: (tokens) => keep('tokens', tokens),
  saveCodeVerifier: (verifier) => keep('verifier', verifier),
  codeVerifier: () => kept('verifier') as string,
  discoveryState: () => kept('discovered'),
  saveDiscoveryState: (discovered) => keep('discovered', discovered),
  redirectToAuthorization: (url) => location.assign(url),
}

const newTransport = () =>
  new StreamableHTTPClientTransport(new URL(server), { authProvider, ...(headers && { requestInit: { headers } }) })
const say = (text: string) => {
  const output = document.querySelector('output') as HTMLOutputElement
  output.textContent = text
}

async function fulfil(wish: Wish): Promise<void> {
  say('')
  keep('wish', wish)
  const client = new Client({ name: 'page', version: '1.0.0' }, { versionNegotiation: { mode } })
  try {
    await client.connect(newTransport())
    const { tools } = await client.listTools()
    const { content } = await client.callTool(wish)
    const [block] = content
    say(`${tools.map(({ name }) => name).join(' ')}: ${block?.type === 'text' ? block.text : ''}`)
  } catch (problem) {
    // The page is on its way to the authorization server already.
    if (!(problem instanceof UnauthorizedError)) say(String(problem))
  } finally {
    await client.close()
  }
}

const returned = new URLSearchParams(location.search)
if (returned.has('state')) {
  history.replaceState(null, '', '/')
  try {
    if (returned.get('state') !== kept('state')) throw new Error('This is the answer to another question')
    await newTransport().finishAuth(returned)
    await fulfil(kept('wish') as Wish)
  } catch (problem) {
    say(String(problem))
  }
}

const button = (id: string, wish: Wish) =>
  document.getElementById(id)?.addEventListener('click', () => void fulfil(wish))
button('read', read ?? { name: 'read_note', arguments: { id: 'welcome' } })
button('write', { name: 'write_note', arguments: { id: 'page', text: 'Written by a page' } })
document.body.dataset.ready = 'yes'
