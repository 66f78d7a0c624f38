import { Browser } from '../../../worker/testing/provider/browser.ts'
import { seen } from '../client.ts'
import type { Attack, Stage } from './stage.ts'

const notHere = '400 page: This authorization was not started in this browser; start again.'
const failed = '302 http://127.0.0.1/callback error=server_error error_description iss state'
const signedIn = '302 http://127.0.0.1/callback code iss state'

/** Visits the callback of a provider, changed. */
const visiting = (
  name: string,
  outcome: string,
  change: (url: URL, browser: Browser, stage: Stage) => unknown = () => {},
  init: RequestInit = {},
): Attack => ({
  name,
  outcome,
  async by(stage) {
    const { url, browser } = await stage.callback()
    const other = await change(url, browser, stage)
    return seen(await (other instanceof Browser ? other : browser).visit(url, undefined, init))
  },
})

export const callbacks: Readonly<Record<string, readonly Attack[]>> = {
  'the callback of a provider': [
    visiting('is visited as it is, which is no attack', signedIn),
    visiting('has no state', '400 page: Missing state parameter.', (url) => url.searchParams.delete('state')),
    visiting('has an invalid state', notHere, (url) => url.searchParams.set('state', 'x')),
    visiting('has a state of 10,000 characters', notHere, (url) => url.searchParams.set('state', 'x'.repeat(10_000))),
    visiting('has the state of another user', notHere, async (url, _, stage) => {
      url.searchParams.set('state', (await stage.callback()).url.searchParams.get('state') as string)
    }),
    visiting('is visited in a browser that did not ask', notHere, () => new Browser()),
    visiting(
      'is visited in the browser of a victim, who asked for something else',
      notHere,
      async (_, __, stage) => (await stage.callback()).browser,
    ),
    visiting('is visited twice', notHere, (url, browser) => browser.visit(url).then(() => {})),
    visiting('has a second state', failed, (url) => url.searchParams.append('state', 'x')),
    visiting('has two codes', failed, (url) => url.searchParams.append('code', 'x')),
    visiting('has no code', failed, (url) => url.searchParams.delete('code')),
    visiting('has the code of another user', failed, async (url, _, stage) => {
      const other = (await stage.callback()).url
      url.searchParams.set('code', other.searchParams.get('code') as string)
    }),
    visiting('has an invalid code', failed, (url) => url.searchParams.set('code', 'x')),
    visiting('has a code and an error', failed, (url) => url.searchParams.set('error', 'temporarily_unavailable')),
    visiting(
      'has a code and a denial',
      '302 http://127.0.0.1/callback error=access_denied error_description iss state',
      (url) => url.searchParams.set('error', 'access_denied'),
    ),
    visiting('has an error of markup', failed, (url) => url.searchParams.set('error', '<script>alert(1)</script>')),
    visiting('has an ID token', failed, (url) => url.searchParams.set('id_token', 'a.b.c')),
    visiting('has an answer as JWT', failed, (url) => url.searchParams.set('response', 'a.b.c')),
    visiting(
      'is that of another provider, with a state of this one (mix-up)',
      '400 page: The answer is of another provider.',
      (url) => {
        url.pathname = '/oauth/callback/work'
      },
    ),
    visiting('is that of a provider that does not exist', '404 Not found. The MCP endpoint is /mcp', (url) => {
      url.pathname = '/oauth/callback/evil'
    }),
    visiting('is that of a member of objects', '404 Not found. The MCP endpoint is /mcp', (url) => {
      url.pathname = '/oauth/callback/constructor'
    }),
    visiting('has another case', '404 Not found. The MCP endpoint is /mcp', (url) => {
      url.pathname = '/oauth/callback/GitHub'
    }),
    visiting('has a slash at its end', '404 Not found. The MCP endpoint is /mcp', (url) => {
      url.pathname += '/'
    }),
    visiting('is posted', '405', () => {}, { method: 'POST' }),
    visiting('is asked for its headers', '405', () => {}, { method: 'HEAD' }),
    visiting('is put', '405', () => {}, { method: 'PUT' }),
    visiting('is visited with the handle of the consent page as state', notHere, async (url, browser, stage) => {
      const { form } = await stage.consent({}, browser)
      url.searchParams.set('state', form.get('handle') as string)
    }),
    {
      name: 'is visited twice at the same time',
      outcome: ['302', '400'],
      async by(stage) {
        const { url, browser } = await stage.callback()
        const cookie = [...browser.cookiesOf(stage.server.origin)].map((pair) => pair.join('=')).join('; ')
        const visit = () => fetch(url, { headers: { cookie }, redirect: 'manual' })
        return (await Promise.all([visit(), visit()])).map(({ status }) => String(status)).sort()
      },
    },
    {
      name: 'has a cookie of this state whose value is of another one',
      outcome: '400 page: This authorization belongs to a different browser session; start again.',
      async by(stage) {
        const { url, browser } = await stage.callback()
        const names = [...browser.cookiesOf(stage.server.origin).keys()].filter((name) => name.includes('upstream'))
        const cookie = names.map((name) => `${name}=${'0'.repeat(64)}`).join('; ')
        return seen(await fetch(url, { headers: { cookie }, redirect: 'manual' }))
      },
    },
    {
      name: 'of a code that belongs to the second provider, at the second provider, after consent for the first (mix-up)',
      outcome: notHere,
      async by(stage) {
        const honest = await stage.callback()
        const { asked, browser, form } = await stage.consent()
        form.set('decision', 'work')
        await stage.decide(browser, form)
        const url = stage.at('/oauth/callback/work')
        url.search = honest.url.search
        return [asked, await seen(await browser.visit(url))][1]
      },
    },
    {
      name: 'has the `iss` of another provider (RFC 9207)',
      outcome: failed,
      async by(stage) {
        const { url, browser } = await stage.callback()
        url.searchParams.set('iss', 'https://evil.example')
        return seen(await browser.visit(url))
      },
    },
  ],
  'what the provider is sent': [
    {
      name: 'has no state, code or scope of the client',
      outcome: { state: false, challenge: false, scope: 'read:user user:email' },
      async by(stage) {
        const { asked, browser, form } = await stage.consent()
        const location = (await stage.decide(browser, form)).headers.get('Location') as string
        const { searchParams } = new URL(location)
        return {
          state: searchParams.get('state') === 'its-state',
          challenge: searchParams.get('code_challenge') === asked.url.searchParams.get('code_challenge'),
          scope: searchParams.get('scope'),
        }
      },
    },
    {
      name: 'has the callback of this server, whatever the client asks for',
      outcome: '/oauth/callback/github',
      async by(stage) {
        const { browser, form } = await stage.consent()
        form.set('redirect_uri', 'https://evil.example')
        const location = (await stage.decide(browser, form)).headers.get('Location') as string
        return new URL(new URL(location).searchParams.get('redirect_uri') as string).pathname
      },
    },
  ],
}
