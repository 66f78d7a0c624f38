import { seen, unknownApp } from '../client.ts'
import type { Attack, Stage } from './stage.ts'

/** Redeems a good code with a changed form. */
const redeeming = (
  name: string,
  outcome: string,
  change: (form: Record<string, string>, stage: Stage) => unknown,
): Attack => ({
  name,
  outcome,
  async by(stage) {
    const { asked, code } = await stage.unredeemed()
    const form = stage.codeForm(asked, code)
    await change(form, stage)
    return seen(await stage.token(form))
  },
})

/** Asks for a code with changed parameters. */
const asking = (name: string, outcome: string, changes: Record<string, string | undefined>): Attack => ({
  name,
  outcome,
  by: async (stage) => seen(await fetch(stage.ask(await stage.registered(), changes).url, { redirect: 'manual' })),
})

const client = '400 page to http://127.0.0.1/callback'

export const codes: Readonly<Record<string, readonly Attack[]>> = {
  'an authorization code': [
    {
      name: 'is used twice: the tokens of its first use are revoked',
      outcome: ['400 invalid_grant', '400 invalid_grant'],
      async by(stage) {
        const { asked, code, client, tokens } = await stage.signIn()
        return [
          await seen(await stage.token(stage.codeForm(asked, code))),
          await seen(await stage.token(stage.refreshForm(client, tokens.refresh_token))),
        ]
      },
    },
    {
      name: 'is used twice at the same time',
      outcome: ['200 granted', '400 invalid_grant'],
      async by(stage) {
        const { asked, code } = await stage.unredeemed()
        const answers = [1, 2].map(() => stage.token(stage.codeForm(asked, code)))
        return (await Promise.all(answers.map(async (answer) => seen(await answer)))).sort()
      },
    },
    {
      name: 'is used twenty times at the same time, with parameters that name other grants',
      outcome: 1,
      async by(stage) {
        const { asked, code } = await stage.unredeemed()
        const form = stage.codeForm(asked, code)
        const answers = Array.from({ length: 20 }, (_, index) =>
          stage.token({ ...form, refresh_token: `github.1:${index}:x`, token: '', subject_token: 'a:b:c' }),
        )
        const all = await Promise.all(answers.map(async (answer) => seen(await answer)))
        return all.filter((text) => text === '200 granted').length
      },
    },
    {
      name: 'of one client is used by another one',
      outcome: '400 invalid_grant',
      async by(stage) {
        const { asked, code } = await stage.unredeemed()
        const thief = await stage.registered()
        return seen(await stage.token({ ...stage.codeForm(asked, code), client_id: thief.id }))
      },
    },
    {
      name: 'is injected into the session of another user: the verifier is of another request',
      outcome: '400 invalid_grant',
      async by(stage) {
        const { code } = await stage.unredeemed()
        const victim = await stage.unredeemed()
        return seen(await stage.token(stage.codeForm(victim.asked, code)))
      },
    },
    redeeming('has another secret', '400 invalid_grant', (form) => {
      form.code = `${form.code?.slice(0, -4)}AAAA`
    }),
    redeeming('has another case', '400 invalid_grant', (form) => {
      form.code = form.code?.toLowerCase() ?? ''
    }),
    redeeming('has another user', '400 invalid_grant', (form) => {
      form.code = form.code?.replace(/^[^:]+/, 'github.583231') ?? ''
    }),
    redeeming('has another grant', '400 invalid_grant', (form) => {
      form.code = form.code?.replace(/:[^:]+:/, ':AAAAAAAAAAAAAAAA:') ?? ''
    }),
    redeeming('has a fourth part', '400 invalid_grant', (form) => {
      form.code = `${form.code}:x`
    }),
    redeeming('is used as a refresh token', '400 invalid_grant', (form) => {
      Object.assign(form, { grant_type: 'refresh_token', refresh_token: form.code })
    }),
    redeeming('is missing', '400 invalid_request', (form) => {
      form.code = ''
    }),
    redeeming('comes without a client', '401 invalid_client', (form) => {
      form.client_id = ''
    }),
    redeeming('comes with an unknown client', '401 invalid_client', (form) => {
      form.client_id = 'AAAAAAAAAAAAAAAA'
    }),
    redeeming('comes with a secret of a public client', '401 invalid_client', (form) => {
      form.client_secret = 'hush'
    }),
    redeeming('comes with another redirect URI', '400 invalid_grant', (form) => {
      form.redirect_uri = 'http://127.0.0.1:10/callback'
    }),
    redeeming('comes with a redirect URI of another host', '400 invalid_grant', (form) => {
      form.redirect_uri = 'https://evil.example/callback'
    }),
    redeeming('asks for the resource of another server', '400 invalid_target', (form) => {
      form.resource = 'https://evil.example/mcp'
    }),
    redeeming('asks for scopes that were not granted', '400 invalid_scope', (form) => {
      form.scope = 'admin'
    }),
    redeeming('is redeemed by a grant type that does not exist', '400 unsupported_grant_type', (form) => {
      form.grant_type = 'client_credentials'
    }),
    redeeming('is exchanged', '400 unsupported_grant_type', (form) => {
      Object.assign(form, {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: form.code,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      })
    }),
    redeeming('is redeemed by a password', '400 unsupported_grant_type', (form) => {
      Object.assign(form, { grant_type: 'password', username: 'ada', password: 'ada' })
    }),
    redeeming('is redeemed without a grant type', '400 unsupported_grant_type', (form) => {
      delete form.grant_type
    }),
    {
      name: 'is sent twice in one form',
      outcome: '400 invalid_request',
      async by(stage) {
        const { asked, code } = await stage.unredeemed()
        return seen(await stage.token(`${new URLSearchParams(stage.codeForm(asked, code))}&code=x`))
      },
    },
    {
      name: 'is sent as JSON',
      outcome: '400 invalid_request',
      async by(stage) {
        const { asked, code } = await stage.unredeemed()
        const body = JSON.stringify(stage.codeForm(asked, code))
        return seen(await stage.token(body, { 'Content-Type': 'application/json' }))
      },
    },
    {
      name: 'is sent in the URL',
      outcome: '401 invalid_client',
      async by(stage) {
        const { asked, code } = await stage.unredeemed()
        const url = stage.at(`/oauth/token?${new URLSearchParams(stage.codeForm(asked, code))}`)
        const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
        return seen(await fetch(url, { method: 'POST', headers, body: '' }))
      },
    },
    {
      name: 'is used as an access token',
      outcome: '401 The token is not valid for this resource',
      async by(stage) {
        const { code } = await stage.unredeemed()
        return stage.call(code)
      },
    },
  ],
  PKCE: [
    asking('is missing', `${client} error=invalid_request error_description iss state`, {
      code_challenge: undefined,
      code_challenge_method: undefined,
    }),
    asking('has the method plain', `${client} error=invalid_request error_description iss state`, {
      code_challenge_method: 'plain',
    }),
    asking('has no method, which means plain', `${client} error=invalid_request error_description iss state`, {
      code_challenge_method: undefined,
    }),
    asking('has the method s256', `${client} error=invalid_request error_description iss state`, {
      code_challenge_method: 's256',
    }),
    asking('has a method without a challenge', `${client} error=invalid_request error_description iss state`, {
      code_challenge: undefined,
    }),
    redeeming('has no verifier', '400 invalid_request', (form) => {
      delete form.code_verifier
    }),
    redeeming('has an empty verifier', '400 invalid_request', (form) => {
      form.code_verifier = ''
    }),
    redeeming('has another verifier', '400 invalid_grant', (form) => {
      form.code_verifier = 'x'.repeat(43)
    }),
    redeeming('has the challenge as verifier', '400 invalid_grant', async (form) => {
      const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(form.code_verifier))
      form.code_verifier = Buffer.from(hash).toString('base64url')
    }),
    redeeming('has a verifier of 100,000 characters', '413 invalid_request', (form) => {
      form.code_verifier = 'x'.repeat(100_000)
    }),
  ],
  'the parameters of an authorization request': [
    asking('lack response_type', `${client} error=invalid_request error_description iss state`, {
      response_type: undefined,
    }),
    asking('ask for a token', `${client} error=unsupported_response_type error_description iss state`, {
      response_type: 'token',
    }),
    asking('ask for a code and a token', `${client} error=unsupported_response_type error_description iss state`, {
      response_type: 'code token',
    }),
    asking('lack the client', '400 page: client_id is required.', { client_id: undefined }),
    asking('name an unknown client', unknownApp, { client_id: 'AAAAAAAAAAAAAAAA' }),
    asking('name an object of another kind', unknownApp, { client_id: 'settings' }),
    asking('name a client with separators', unknownApp, { client_id: 'a:b:c' }),
    asking('name a client of 10,000 characters', unknownApp, { client_id: 'a'.repeat(10_000) }),
    asking('name a client in another script', unknownApp, { client_id: '𝒜\u0000%00' }),
    asking('name the URL of a metadata document, which this server does not read', unknownApp, {
      client_id: 'https://app.example/client.json',
    }),
    asking('name the resource of another server', `${client} error=invalid_target error_description iss state`, {
      resource: 'https://evil.example/mcp',
    }),
    asking('name a resource on another path', `${client} error=invalid_target error_description iss state`, {
      resource: 'http://127.0.0.1:1/other',
    }),
    asking('name a resource that is no URL', `${client} error=invalid_target error_description iss state`, {
      resource: 'mcp',
    }),
    asking('ask for no scope that exists', `${client} error=invalid_scope error_description iss state`, {
      scope: 'admin root',
    }),
    asking('ask for scopes that do not exist: only the others are offered', '200 page: consent', {
      scope: 'notes:read admin root',
    }),
  ],
}
