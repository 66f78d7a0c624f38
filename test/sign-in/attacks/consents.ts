import { Browser } from '../../../worker/testing/provider/browser.ts'
import { seen } from '../client.ts'
import type { Attack, Stage } from './stage.ts'

/** Posts the form of a consent page, changed. */
const posting = (
  name: string,
  outcome: string,
  change: (form: URLSearchParams, browser: Browser, stage: Stage) => unknown,
  init: RequestInit = {},
): Attack => ({
  name,
  outcome,
  async by(stage) {
    const { form, browser } = await stage.consent()
    const other = await change(form, browser, stage)
    return (await seen(await stage.decide(other instanceof Browser ? other : browser, form, init))).replace(
      stage.gitHub.url.replace(/:\d+$/, ''),
      'GitHub',
    )
  },
})

const toGitHub =
  '302 GitHub/login/oauth/authorize client_id code_challenge code_challenge_method redirect_uri response_type scope state'

/** Registers and asks with hostile texts, and returns the page. */
const pageWith = async (stage: Stage, metadata: Record<string, unknown>, changes: Record<string, string> = {}) => {
  const asked = stage.ask(await stage.registered(metadata), changes)
  return (await fetch(asked.url)).text()
}

const hostile = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '</strong></h1><form action="https://evil.example">',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '<!--',
]

/** Markup that is not the page's own. */
const markupIn = (page: string) =>
  [...page.matchAll(/<[^>]*>/g)].flatMap(
    ([tag]) => /^<(?:script|img|svg|iframe|!--)|\son\w+=|\saction=/i.exec(tag)?.[0] ?? [],
  )

export const consents: Readonly<Record<string, readonly Attack[]>> = {
  'the consent page': [
    posting('is posted as it is, which is no attack', toGitHub, () => {}),
    posting(
      'is posted from a browser without its cookie',
      '400 page: This authorization was not started in this browser; start again.',
      () => new Browser(),
    ),
    posting(
      'is posted from another browser that has a consent page too',
      '400 page: This authorization was not started in this browser; start again.',
      async (_, __, stage) => (await stage.consent()).browser,
    ),
    posting(
      'is posted with the handle of another page',
      '400 page: This authorization was not started in this browser; start again.',
      async (form, _, stage) => {
        form.set('handle', (await stage.consent()).form.get('handle') as string)
      },
    ),
    posting('is posted without a handle', '400 page: Missing transaction handle.', (form) => form.delete('handle')),
    posting(
      'is posted with an invalid handle',
      '400 page: This authorization was not started in this browser; start again.',
      (form) => form.set('handle', 'x'),
    ),
    posting('is posted without a decision', '400 page: The form has no decision.', (form) => form.delete('decision')),
    posting('is posted with an unknown provider', '400 page: The form has no decision.', (form) =>
      form.set('decision', 'evil'),
    ),
    posting('is posted with the name of a member of objects', '400 page: The form has no decision.', (form) =>
      form.set('decision', '__proto__'),
    ),
    posting(
      'is posted twice',
      '400 page: This authorization was not started in this browser; start again.',
      async (form, browser, stage) => {
        await stage.decide(browser, form)
      },
    ),
    posting(
      'is denied, then approved',
      '400 page: This authorization was not started in this browser; start again.',
      async (form, browser, stage) => {
        await stage.decide(
          browser,
          new URLSearchParams(
            [...form, ['decision', 'deny']].map(([n, v]) => [n as string, n === 'decision' ? 'deny' : (v as string)]),
          ),
        )
      },
    ),
    posting(
      'is posted with a scope that was not offered',
      '400 page: The form has a scope that the page did not offer.',
      (form) => form.append('scope', 'admin'),
    ),
    posting('is posted with 100,000 characters', '413 page: The form is too large.', (form) =>
      form.set('x', 'x'.repeat(100_000)),
    ),
    posting('is posted with an empty body', '400 page: The form has no decision.', (form) => {
      for (const name of [...form.keys()]) form.delete(name)
    }),
    {
      name: 'is posted twice at the same time',
      outcome: ['302', '400'],
      async by(stage) {
        const { form, browser } = await stage.consent()
        const cookie = [...browser.cookiesOf(stage.server.origin)].map((pair) => pair.join('=')).join('; ')
        const post = () =>
          fetch(stage.at('/authorize'), { method: 'POST', body: form, headers: { cookie }, redirect: 'manual' })
        return (await Promise.all([post(), post()])).map(({ status }) => String(status)).sort()
      },
    },
    {
      name: 'is approved and denied at the same time',
      outcome: ['302', '400'],
      async by(stage) {
        const { form, browser } = await stage.consent()
        const cookie = [...browser.cookiesOf(stage.server.origin)].map((pair) => pair.join('=')).join('; ')
        const post = (decision: string) => {
          const body = new URLSearchParams(form)
          body.set('decision', decision)
          return fetch(stage.at('/authorize'), { method: 'POST', body, headers: { cookie }, redirect: 'manual' })
        }
        return (await Promise.all([post('github'), post('deny')])).map(({ status }) => String(status)).sort()
      },
    },
    {
      name: 'is posted with a scope that another client asked for, and this one did not',
      outcome: '400 page: The form has a scope that the page did not offer.',
      async by(stage) {
        const { form, browser } = await stage.consent({ scope: 'notes:read' })
        form.append('scope', 'notes:write')
        return seen(await stage.decide(browser, form))
      },
    },
    {
      name: 'is posted by a page of another site: the browser sends no cookie',
      outcome: '400 page: This authorization was not started in this browser; start again.',
      async by(stage) {
        const { form } = await stage.consent()
        const headers = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
        return seen(await fetch(stage.at('/authorize'), { method: 'POST', body: form, headers, redirect: 'manual' }))
      },
    },
    {
      name: 'is posted as JSON',
      outcome: '400 page: The form has no decision.',
      async by(stage) {
        const { form, browser } = await stage.consent()
        const body = JSON.stringify(Object.fromEntries(form))
        const headers = { 'Content-Type': 'application/json' }
        return seen(await browser.visit(stage.at('/authorize'), undefined, { method: 'POST', body, headers }))
      },
    },
    {
      name: 'cannot be framed, cached, or leak its URL, and loads nothing',
      outcome: {
        'X-Frame-Options': 'DENY',
        'Cache-Control': 'no-store',
        'Referrer-Policy': 'same-origin',
        'X-Content-Type-Options': 'nosniff',
        'Access-Control-Allow-Origin': null,
        policy: ["base-uri 'none'", "default-src 'none'", "frame-ancestors 'none'"],
      },
      async by(stage) {
        const { headers } = await fetch(stage.ask(await stage.registered()).url, {
          headers: { Origin: 'https://evil.example' },
        })
        const names = [
          'X-Frame-Options',
          'Cache-Control',
          'Referrer-Policy',
          'X-Content-Type-Options',
          'Access-Control-Allow-Origin',
        ]
        const policy = headers.get('Content-Security-Policy')?.split('; ') ?? []
        return {
          ...Object.fromEntries(names.map((name) => [name, headers.get(name)])),
          policy: policy.filter((text) => text.endsWith("'none'")).sort(),
        }
      },
    },
    {
      name: 'of an error cannot be framed either',
      outcome: ['DENY', 'no-store'],
      async by(stage) {
        const { headers } = await fetch(stage.at('/authorize'))
        return [headers.get('X-Frame-Options'), headers.get('Cache-Control')]
      },
    },
    {
      name: 'binds itself to the browser by a cookie that scripts, other hosts and other sites do not get',
      outcome: ['HttpOnly', 'Path=/', 'SameSite=Lax', 'Secure', '__Host-oauth-consent'],
      async by(stage) {
        const response = await fetch(stage.ask(await stage.registered()).url)
        const [pair = '', ...attributes] = response.headers.getSetCookie()[0]?.split('; ') ?? []
        return [...attributes.filter((text) => !text.startsWith('Max-Age')), pair.replace(/-\w+=.*/, '')].sort()
      },
    },
    ...hostile.map(
      (text): Attack => ({
        name: `shows a client with the name ${text}`,
        outcome: [],
        by: async (stage) => markupIn(await pageWith(stage, { client_name: text })),
      }),
    ),
    ...hostile.map(
      (text): Attack => ({
        name: `shows a client with the home page and logo of ${text}`,
        outcome: [],
        by: async (stage) =>
          markupIn(
            await pageWith(stage, { client_uri: `https://a.example/${text}`, logo_uri: `https://a.example/${text}` }),
          ),
      }),
    ),
    ...hostile.map(
      (text): Attack => ({
        name: `shows the scope and the state ${text}`,
        outcome: [],
        by: async (stage) => markupIn(await pageWith(stage, {}, { scope: `notes:read ${text}`, state: text })),
      }),
    ),
    ...hostile.map(
      (text): Attack => ({
        name: `reports an unknown client ${text}`,
        outcome: [],
        by: async (stage) => markupIn(await (await fetch(stage.ask({ id: text, secret: undefined }).url)).text()),
      }),
    ),
    {
      name: 'shows the host of the redirect URI, and not what the client says of itself',
      outcome: ['evil.example', 'it is not verified'],
      async by(stage) {
        const redirect_uri = 'https://evil.example/github.com/callback'
        const page = await pageWith(
          stage,
          { client_name: 'github.com', redirect_uris: [redirect_uri] },
          { redirect_uri },
        )
        return [/Access is sent to <strong>([^<]*)/.exec(page)?.[1], /it is not verified/.exec(page)?.[0]]
      },
    },
    {
      name: 'shows the host of the redirect URI in ASCII',
      outcome: 'xn--pple-43d.example',
      async by(stage) {
        const redirect_uri = 'https://аpple.example/callback'
        const page = await pageWith(stage, { redirect_uris: [redirect_uri] }, { redirect_uri })
        return /Access is sent to <strong>([^<]*)/.exec(page)?.[1]
      },
    },
    {
      name: 'hides the letters that turn a name around',
      outcome: null,
      async by(stage) {
        const page = await pageWith(stage, { client_name: 'a\u202etxt.exe\u0000\u200b' })
        return /(?!\n)[\p{Cc}\p{Cf}]/u.exec(page)
      },
    },
  ],
  'a long text': [
    ...(
      [
        ['in the name of the client', { client_name: 'x'.repeat(10_000) }, {}],
        ['as scope', {}, { scope: `notes:read ${'x'.repeat(10_000)}` }],
      ] as const
    ).map(
      ([name, metadata, changes]): Attack => ({
        name,
        outcome: true,
        by: async (stage) => (await pageWith(stage, metadata, changes)).length < 4000,
      }),
    ),
    {
      name: 'as state comes back as it was',
      outcome: 10_000,
      async by(stage) {
        const { asked, browser } = await stage.consent({ state: 'x'.repeat(10_000) })
        return (await browser.authorize(asked.url, { decision: 'deny' })).get('state')?.length
      },
    },
  ],
}
