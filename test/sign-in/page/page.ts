/** A page with a client in it, which opens the authorization page in a window, and stays where it is. */
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client'

const kept = <T>(name: string): T | undefined => JSON.parse(sessionStorage.getItem(name) ?? 'null') ?? undefined
const keep = (name: string, value: unknown) => sessionStorage.setItem(name, JSON.stringify(value))
const redirectUrl = `${location.origin}/`

const say = (text: string) => {
  const output = document.querySelector('output') as HTMLOutputElement
  output.textContent = text
}

/** What the window comes back with. */
const returned = (): Promise<URLSearchParams> =>
  new Promise((resolve) => {
    addEventListener(
      'message',
      ({ origin, data }) => origin === location.origin && resolve(new URLSearchParams(data)),
      {
        once: true,
      },
    )
  })

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
  invalidateCredentials: (what) => {
    if (what === 'all' || what === 'client') sessionStorage.removeItem('client')
    if (what === 'all' || what === 'tokens') sessionStorage.removeItem('tokens')
  },
  redirectToAuthorization: (url) => void open(url, 'sign-in'),
}

async function start(): Promise<void> {
  const { server, mode } = (await (await fetch('/settings')).json()) as { server: string; mode: VersionNegotiationMode }
  const newTransport = () => new StreamableHTTPClientTransport(new URL(server), { authProvider })

  async function call(name: string): Promise<string> {
    const client = new Client({ name: 'page', version: '1.0.0' }, { versionNegotiation: { mode } })
    try {
      await client.connect(newTransport())
      const { content } = await client.callTool({ name, arguments: {} })
      const [block] = content
      return block?.type === 'text' ? block.text : ''
    } finally {
      await client.close()
    }
  }

  async function fulfil(tool: string): Promise<void> {
    say('')
    try {
      const back = returned()
      say(
        await call(tool).catch(async (problem) => {
          if (!(problem instanceof UnauthorizedError)) throw problem
          const params = await back
          if (params.get('state') !== kept('state')) throw new Error('This is the answer to another question')
          await newTransport().finishAuth(params)
          return call(tool)
        }),
      )
    } catch (problem) {
      say(String(problem))
    }
  }

  /** RFC 7009. */
  async function revoke(): Promise<void> {
    say('')
    const { refresh_token } = kept<{ refresh_token: string }>('tokens') ?? {}
    const { client_id } = kept<{ client_id: string }>('client') ?? {}
    const { revocation_endpoint } = await (
      await fetch(new URL('/.well-known/oauth-authorization-server', server))
    ).json()
    const body = new URLSearchParams({ token: refresh_token ?? '', client_id: client_id ?? '' })
    const { status } = await fetch(revocation_endpoint, { method: 'POST', body })
    say(`revoked ${status}`)
  }

  const button = (id: string, work: () => Promise<void>) =>
    document.getElementById(id)?.addEventListener('click', () => void work())
  button('read', () => fulfil('whoami'))
  button('write', () => fulfil('write'))
  button('revoke', revoke)
  document.body.dataset.ready = 'yes'
}

if (location.search) {
  ;(opener as Window).postMessage(location.search, location.origin)
  close()
} else await start()
