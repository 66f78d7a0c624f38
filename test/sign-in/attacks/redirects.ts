import { redirectUri, seen } from '../client.ts'
import type { Attack } from './stage.ts'

const https = 'https://app.example/callback'

const app = 'com.example.app:/callback'

/** Asks with another redirect URI than the registered one. */
const asking = (
  name: string,
  registered: string,
  asked: string,
  outcome = '400 page: Invalid redirect URI.',
): Attack => ({
  name: `${name}: ${asked}`,
  outcome,
  async by(stage) {
    const client = await stage.registered({ redirect_uris: [registered] })
    return seen(await fetch(stage.ask(client, { redirect_uri: asked }).url, { redirect: 'manual' }))
  },
})

/** Registers a redirect URI. */
const registering = (uri: string, outcome = '400 invalid_client_metadata'): Attack => ({
  name: uri,
  outcome,
  by: async (stage) => seen(await stage.register({ redirect_uris: [uri] })),
})

export const redirects: Readonly<Record<string, readonly Attack[]>> = {
  'a redirect URI': [
    asking('of another path', https, 'https://app.example/other'),
    asking('of a path below', https, 'https://app.example/callback/x'),
    asking('with a path that leads upwards', https, 'https://app.example/callback/../x'),
    asking('with a slash at the end', https, 'https://app.example/callback/'),
    asking('with a query', https, 'https://app.example/callback?next=https://evil.example'),
    asking('with a fragment', https, 'https://app.example/callback#x'),
    asking('with userinfo', https, 'https://app.example@evil.example/callback'),
    asking('with userinfo of its own host', https, 'https://evil@app.example/callback'),
    asking('with another case of the path', https, 'https://app.example/Callback'),
    asking('with another case of the host', https, 'https://APP.example/callback'),
    asking('with a trailing dot', https, 'https://app.example./callback'),
    asking('of a subdomain', https, 'https://evil.app.example/callback'),
    asking('of a host that begins alike', https, 'https://app.example.evil.example/callback'),
    asking('with another port', https, 'https://app.example:8443/callback'),
    asking('with the default port', https, 'https://app.example:443/callback'),
    asking('without TLS', https, 'http://app.example/callback'),
    asking('with a backslash', https, 'https://evil.example\\@app.example/callback'),
    asking('with a line break', https, 'https://app.example/callback\r\nSet-Cookie: a=b'),
    asking('with a space in front', https, ` ${https}`),
    asking('percent-encoded', https, 'https://app.example/%63allback'),
    asking('without a host', https, 'https:///callback'),
    asking('relative', https, '/callback'),
    asking('that is empty', https, ''),
    asking('of a scheme', https, 'javascript:alert(1)//app.example/callback'),
    asking('of this machine instead of another', https, redirectUri),
    asking('of another host instead of this machine', redirectUri, https),
    asking('of this machine with another path', redirectUri, 'http://127.0.0.1:9/other'),
    asking('of this machine by another name', redirectUri, 'http://localhost:9/callback'),
    asking('of this machine with TLS', redirectUri, 'https://127.0.0.1:9/callback'),
    asking('of this machine with userinfo', redirectUri, 'http://a@127.0.0.1:9/callback'),
    asking('of this machine with a fragment', redirectUri, 'http://127.0.0.1:9/callback#x'),
    asking('of a host that begins as this machine does', redirectUri, 'http://127.0.0.1.evil.example/callback'),
    asking(
      'of this machine with another port, which RFC 8252 allows',
      redirectUri,
      'http://127.0.0.1:55555/callback',
      '200 page: consent',
    ),
    asking('of Cursor, which another app did not register', https, 'cursor://anysphere.cursor-mcp/oauth/callback'),
    {
      name: 'of an app, registered beside another one',
      outcome: '400 page: Invalid redirect URI.',
      async by(stage) {
        const client = await stage.registered({ redirect_uris: [https, app] })
        const { url } = stage.ask(client, { redirect_uri: app })
        return seen(await fetch(url, { redirect: 'manual' }))
      },
    },
    {
      name: 'of an app, registered beside another one, for which the request is an error',
      outcome: '400 page: Invalid redirect URI.',
      async by(stage) {
        const client = await stage.registered({ redirect_uris: [https, app] })
        const { url } = stage.ask(client, { redirect_uri: app, resource: 'https://evil.example/mcp' })
        return seen(await fetch(url, { redirect: 'manual' }))
      },
    },
    {
      name: 'that is sent twice: the first counts, and it is the registered one',
      outcome: '302 http://127.0.0.1/callback error=access_denied iss state',
      async by(stage) {
        const { asked, browser } = await stage.consent()
        asked.url.searchParams.append('redirect_uri', 'https://evil.example/callback')
        const page = await (await browser.visit(asked.url)).text()
        const handle = /name="handle" value="([^"]+)"/.exec(page)?.[1] ?? ''
        return seen(await stage.decide(browser, new URLSearchParams({ handle, decision: 'deny' })))
      },
    },
    {
      name: 'in the form of the consent page is ignored',
      outcome: '302 http://127.0.0.1/callback error=access_denied iss state',
      async by(stage) {
        const { form, browser } = await stage.consent()
        form.set('decision', 'deny')
        form.set('redirect_uri', 'https://evil.example/')
        form.set('state', 'other')
        return seen(await stage.decide(browser, form))
      },
    },
  ],
  'a registration refuses the redirect URI': [
    registering('javascript:alert(1)'),
    registering('JavaScript:alert(1)'),
    registering(' javascript:alert(1)'),
    registering('java\tscript:alert(1)'),
    registering('data:text/html,<script>alert(1)</script>'),
    registering('vbscript:msgbox(1)'),
    registering('file:///etc/passwd'),
    registering('blob:https://app.example/x'),
    registering('mailto:ada@example.com'),
    registering('http://app.example/callback'),
    registering('http://127.0.0.1.evil.example/callback'),
    registering('http://localhost.evil.example/callback'),
    registering('http://[::ffff:10.0.0.1]/callback'),
    registering('http://169.254.169.254/callback'),
    registering('https://a:b@app.example/callback'),
    registering('https://app.example/callback#'),
    registering('https://app.example/callback#x'),
    registering(app),
    registering('cursor://evil.example/oauth/callback'),
    registering('cursor://anysphere.cursor-mcp/oauth/callback#x'),
    registering('CURSOR://anysphere.cursor-mcp/oauth/callback'),
    registering('ftp://app.example/callback'),
    registering('/callback'),
    registering(''),
    registering('https://'),
  ],
  'a registration': [
    ...(
      [
        ['without redirect URIs', { redirect_uris: [] }],
        ['with a text instead of a list', { redirect_uris: 'https://app.example/' }],
        ['with a number as name', { client_name: 7 }],
        ['with a script as its home page', { client_uri: 'javascript:alert(1)' }],
        ['with a script as its logo', { logo_uri: 'data:image/svg+xml,<svg onload=alert(1)>' }],
        ['for client credentials', { grant_types: ['client_credentials'] }],
        ['for the implicit grant', { grant_types: ['implicit'], response_types: ['token'] }],
        ['with an unknown authentication', { token_endpoint_auth_method: 'tls_client_auth' }],
      ] as const
    ).map(
      ([name, metadata]): Attack => ({
        name,
        outcome: '400 invalid_client_metadata',
        by: async (stage) => seen(await stage.register(metadata)),
      }),
    ),
    {
      name: 'that is no JSON',
      outcome: '400 invalid_request',
      by: async (stage) => seen(await fetch(stage.at('/oauth/register'), { method: 'POST', body: '{' })),
    },
    {
      name: 'that is a list',
      outcome: '400 invalid_client_metadata',
      by: async (stage) => seen(await fetch(stage.at('/oauth/register'), { method: 'POST', body: '[]' })),
    },
    {
      name: 'of 2 MiB',
      outcome: '413 invalid_request',
      // The server closes the connection of a body that it does not read: no other request may use it.
      by: async (stage) =>
        seen(await stage.register({ client_name: 'x'.repeat(2 * 1024 * 1024) }, { Connection: 'close' })),
    },
    {
      name: 'that chooses its own id',
      outcome: false,
      async by(stage) {
        const { client_id } = (await (await stage.register({ client_id: 'mine' })).json()) as { client_id: string }
        return client_id === 'mine'
      },
    },
  ],
}
