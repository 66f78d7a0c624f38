import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { redirectUri, seen } from '../client.ts'
import type { Attack, Stage } from './stage.ts'

const worthless = '401 The token is not valid for this resource'
const malformed = '400 The header Authorization must be "Bearer", a space and one token'

/** Calls a tool with a changed access token. */
const calling = (name: string, outcome: string, change: (token: string) => string): Attack => ({
  name,
  outcome,
  by: async (stage) => stage.call(change((await stage.signIn()).tokens.access_token)),
})

/** Refreshes with a changed form. */
const refreshing = (
  name: string,
  outcome: string,
  change: (form: Record<string, string>, stage: Stage) => unknown,
): Attack => ({
  name,
  outcome,
  async by(stage) {
    const { client, tokens } = await stage.signIn()
    const form = stage.refreshForm(client, tokens.refresh_token)
    await change(form, stage)
    return seen(await stage.token(form))
  },
})

/** The status of a request with any path and host. */
const sent = async (
  stage: Stage,
  path: string,
  headers: Record<string, string>,
  method = 'GET',
  body = '',
): Promise<string> => {
  const { hostname, port } = stage.server
  return new Promise((resolve, reject) => {
    const sending = request({ hostname, port, path, method, headers }, async (response) => {
      resolve(`${response.statusCode} ${(await text(response)).split('\n')[0]?.slice(0, 120)}`.trim())
    })
    sending.on('error', reject)
    sending.end(body)
  })
}

const refreshed = async (stage: Stage, client: { id: string; secret: string | undefined }, token: string) => {
  const response = await stage.token(stage.refreshForm(client, token))
  return (await response.json()) as { access_token: string; refresh_token: string }
}

export const tokens: Readonly<Record<string, readonly Attack[]>> = {
  'an access token': [
    calling('has another secret', worthless, (token) => `${token.slice(0, -4)}AAAA`),
    calling('has another user', worthless, (token) => token.replace(/^[^:]+/, 'github.583231')),
    calling('has another grant', worthless, (token) => token.replace(/:[^:]+:/, ':AAAAAAAAAAAAAAAA:')),
    calling('has a fourth part', worthless, (token) => `${token}:x`),
    calling('has no user', worthless, (token) => token.replace(/^[^:]+/, '')),
    calling('has another case', worthless, (token) => token.toUpperCase()),
    calling('has a percent sign', malformed, (token) => token.replace('.', '%2e')),
    calling('has letters of another script', malformed, (token) => `${token}\u00e4`),
    calling(
      'has 17,000 characters',
      '400 The token is too long: at most 16384 bytes',
      (token) => token + 'x'.repeat(17_000),
    ),
    calling('names a user of 10,000 characters', worthless, () => `${'x'.repeat(10_000)}:a:b`),
    calling('names the object of settings', worthless, () => 'settings:secret:x'),
    calling('names the object of a user', worthless, () => 'user:github.1815:x'),
    calling('is the string of nothing', worthless, () => '::'),
    calling('is "undefined"', worthless, () => 'undefined'),
    {
      name: 'is a refresh token',
      outcome: worthless,
      by: async (stage) => stage.call((await stage.signIn()).tokens.refresh_token),
    },
    {
      name: 'is that of the provider',
      outcome: worthless,
      async by(stage) {
        await stage.signIn()
        return stage.call([...stage.gitHub.tokens.keys()].at(-1) as string)
      },
    },
    {
      name: 'is in the URL',
      outcome: '400',
      async by(stage) {
        const { tokens } = await stage.signIn()
        const url = new URL(stage.server)
        url.searchParams.set('access_token', tokens.access_token)
        return String((await fetch(url, { method: 'POST', body: '{}' })).status)
      },
    },
    {
      name: 'of a revoked grant',
      outcome: ['200', worthless],
      async by(stage) {
        const { client, tokens } = await stage.signIn()
        const { status } = await stage.token({ token: tokens.refresh_token, client_id: client.id })
        return [String(status), await stage.call(tokens.access_token)]
      },
    },
    {
      name: 'that was revoked itself',
      outcome: ['200', worthless],
      async by(stage) {
        const { client, tokens } = await stage.signIn()
        const { status } = await stage.token({ token: tokens.access_token, client_id: client.id })
        return [String(status), await stage.call(tokens.access_token)]
      },
    },
    {
      name: 'is used under another host',
      outcome: '401',
      async by(stage) {
        const { tokens } = await stage.signIn()
        const host = `localhost:${stage.server.port}`
        const headers = {
          host,
          authorization: `Bearer ${tokens.access_token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        }
        return (await sent(stage, '/mcp', headers, 'POST', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')).slice(
          0,
          3,
        )
      },
    },
    {
      name: 'has only the scopes that the user left',
      outcome: '403 Requires the scopes notes:write',
      async by(stage) {
        const { asked, browser, form } = await stage.consent()
        form.delete('scope')
        form.append('scope', 'notes:read')
        const toProvider = (await stage.decide(browser, form)).headers.get('Location') as string
        const back = (await browser.visit(new URL(toProvider))).headers.get('Location') as string
        const location = (await browser.visit(new URL(back))).headers.get('Location') as string
        const code = new URL(location).searchParams.get('code') as string
        const response = await stage.token(stage.codeForm(asked, code))
        const { access_token } = (await response.json()) as { access_token: string }
        return stage.call(access_token, 'write')
      },
    },
  ],
  'a refresh token': [
    refreshing('is used as it is, which is no attack', '200 granted', () => {}),
    refreshing('of one client is used by another one', '400 invalid_grant', async (form, stage) => {
      form.client_id = (await stage.registered()).id
    }),
    refreshing('comes without a client', '401 invalid_client', (form) => delete form.client_id),
    refreshing('has another secret', '400 invalid_grant', (form) => {
      form.refresh_token = `${form.refresh_token?.slice(0, -4)}AAAA`
    }),
    refreshing('has another user', '400 invalid_grant', (form) => {
      form.refresh_token = form.refresh_token?.replace(/^[^:]+/, 'github.583231') ?? ''
    }),
    refreshing('has an encoded separator', '400 invalid_grant', (form) => {
      form.refresh_token = form.refresh_token?.replace(':', '%3A') ?? ''
    }),
    refreshing('has no parts', '400 invalid_grant', (form) => {
      form.refresh_token = 'x'
    }),
    refreshing('has 60,000 characters', '400 invalid_grant', (form) => {
      form.refresh_token = `${'x'.repeat(60_000)}:a:b`
    }),
    refreshing('has 101 parameters', '400 invalid_request', (form) => {
      for (let name = Object.keys(form).length; name <= 100; name += 1) form[`p${name}`] = ''
    }),
    refreshing('has 100,000 characters', '413 invalid_request', (form) => {
      form.refresh_token = 'x'.repeat(100_000)
    }),
    refreshing('asks for more scopes than were granted', '400 invalid_scope', (form) => {
      form.scope = 'admin'
    }),
    refreshing('asks for the resource of another server', '400 invalid_target', (form) => {
      form.resource = 'https://evil.example/mcp'
    }),
    refreshing('is used as a code', '400 invalid_grant', (form) => {
      Object.assign(form, {
        grant_type: 'authorization_code',
        code: form.refresh_token,
        code_verifier: 'x',
        redirect_uri: redirectUri,
      })
    }),
    {
      name: 'is the access token',
      outcome: '400 invalid_grant',
      async by(stage) {
        const { client, tokens } = await stage.signIn()
        return seen(await stage.token(stage.refreshForm(client, tokens.access_token)))
      },
    },
    {
      name: 'is used again after its successor was used',
      outcome: '400 invalid_grant',
      async by(stage) {
        const { client, tokens } = await stage.signIn()
        const next = await refreshed(stage, client, tokens.refresh_token)
        await refreshed(stage, client, next.refresh_token)
        return seen(await stage.token(stage.refreshForm(client, tokens.refresh_token)))
      },
    },
    {
      name: 'is used again before its successor, whose answer was lost',
      outcome: '200 granted',
      async by(stage) {
        const { client, tokens } = await stage.signIn()
        await refreshed(stage, client, tokens.refresh_token)
        return seen(await stage.token(stage.refreshForm(client, tokens.refresh_token)))
      },
    },
    {
      name: 'of a revoked grant',
      outcome: '400 invalid_grant',
      async by(stage) {
        const { client, tokens } = await stage.signIn()
        await stage.token({ token: tokens.refresh_token, client_id: client.id })
        return seen(await stage.token(stage.refreshForm(client, tokens.refresh_token)))
      },
    },
    {
      name: 'is revoked by another client, which changes nothing',
      outcome: ['200', '200 granted'],
      async by(stage) {
        const { client, tokens } = await stage.signIn()
        const { id } = await stage.registered()
        const { status } = await stage.token({ token: tokens.refresh_token, client_id: id })
        return [String(status), await seen(await stage.token(stage.refreshForm(client, tokens.refresh_token)))]
      },
    },
    {
      name: 'is revoked without a client, which changes nothing',
      outcome: ['401', '200 granted'],
      async by(stage) {
        const { client, tokens } = await stage.signIn()
        const { status } = await stage.token({ token: tokens.refresh_token })
        return [String(status), await seen(await stage.token(stage.refreshForm(client, tokens.refresh_token)))]
      },
    },
    {
      name: 'is requested for an assertion where no organization is trusted',
      outcome: '400 unsupported_grant_type',
      async by(stage) {
        const { id } = await stage.registered()
        const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
        return seen(await stage.token({ grant_type, assertion: 'a.b.c', client_id: id }))
      },
    },
    {
      name: 'of the same user and client is replaced by a new sign-in',
      outcome: '400 invalid_grant',
      async by(stage) {
        const { client, tokens } = await stage.signIn()
        await stage.code(stage.ask(client))
        return seen(await stage.token(stage.refreshForm(client, tokens.refresh_token)))
      },
    },
    {
      name: 'of another client of the same user is not',
      outcome: '200 granted',
      async by(stage) {
        const { client, tokens } = await stage.signIn()
        await stage.signIn()
        return seen(await stage.token(stage.refreshForm(client, tokens.refresh_token)))
      },
    },
    {
      name: 'of a confidential client needs its secret',
      outcome: ['401 invalid_client', '401 invalid_client', '200 granted'],
      async by(stage) {
        const client = await stage.registered({ token_endpoint_auth_method: 'client_secret_post' })
        const asked = stage.ask(client)
        const code = await stage.code(asked)
        const secret = client.secret as string
        const response = await stage.token({ ...stage.codeForm(asked, code), client_secret: secret })
        const { refresh_token } = (await response.json()) as { refresh_token: string }
        const form = stage.refreshForm(client, refresh_token)
        return [
          await seen(await stage.token(form)),
          await seen(await stage.token({ ...form, client_secret: 'wrong' })),
          await seen(await stage.token({ ...form, client_secret: secret })),
        ]
      },
    },
  ],
  'the method or the host': [
    ...(
      [
        ['GET', '/oauth/token', '405'],
        ['HEAD', '/oauth/token', '405'],
        ['PUT', '/oauth/token', '405'],
        ['DELETE', '/oauth/token', '405'],
        ['GET', '/oauth/register', '405'],
        ['PUT', '/oauth/register', '405'],
        ['DELETE', '/oauth/register', '405'],
        ['HEAD', '/authorize', '405'],
        ['PUT', '/authorize', '405'],
        ['OPTIONS', '/authorize', '405'],
        ['POST', '/.well-known/oauth-authorization-server', '405'],
        ['POST', '/.well-known/oauth-protected-resource/mcp', '405'],
        ['POST', '/oauth/callback/github', '405'],
        ['POST', '/oauth/token/', '404'],
        ['POST', '/OAUTH/TOKEN', '404'],
        ['POST', '/oauth//token', '404'],
        ['GET', '/authorize/', '404'],
        ['GET', '/oauth/callback/', '404'],
      ] as const
    ).map(
      ([method, path, status]): Attack => ({
        name: `${method} ${path}`,
        outcome: status,
        by: async (stage) => String((await fetch(stage.at(path), { method, redirect: 'manual' })).status),
      }),
    ),
    ...[
      '/authorize',
      '/oauth/token',
      '/oauth/register',
      '/oauth/callback/github',
      '/.well-known/oauth-authorization-server',
    ].map(
      (path): Attack => ({
        name: `the host of another server at ${path}`,
        outcome: '403',
        by: async (stage) => (await sent(stage, path, { host: 'evil.example' })).slice(0, 3),
      }),
    ),
    ...['/oauth/token', '/oauth/register', '/.well-known/oauth-authorization-server'].map(
      (path): Attack => ({
        name: `a page of another site may use ${path}, without cookies`,
        outcome: [204, 'https://app.example', null],
        async by(stage) {
          const headers = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'POST' }
          const response = await fetch(stage.at(path), { method: 'OPTIONS', headers })
          const allowed = (name: string) => response.headers.get(`Access-Control-Allow-${name}`)
          return [response.status, allowed('Origin'), allowed('Credentials')]
        },
      }),
    ),
    ...['/authorize', '/oauth/callback/github'].map(
      (path): Attack => ({
        name: `no page of another site may read ${path}`,
        outcome: null,
        async by(stage) {
          const response = await fetch(stage.at(path), { headers: { Origin: 'https://app.example' } })
          return response.headers.get('Access-Control-Allow-Origin')
        },
      }),
    ),
    {
      name: 'the metadata of another host name that this machine has name that host only',
      outcome: true,
      async by(stage) {
        const host = `localhost:${stage.server.port}`
        const body = await sent(stage, '/.well-known/oauth-authorization-server', { host })
        return body.includes(`"issuer":"http://${host}"`) && !body.includes('127.0.0.1')
      },
    },
  ],
}
