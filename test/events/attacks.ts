/**
 * Attacks on events: what is sent, and exactly what happens. `ROW` in a text is the host of the row.
 *
 * A name is resolved by the platform. Local workerd resolves it, and connects to whatever it means: a test here cannot show that a deployed
 * Worker reaches no private network, also when a name means another address later. What this code decides is below: addresses in every
 * spelling, and names that are reserved. Names that mean a private address by convention are accepted, and their rows say so.
 */
import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { experimental_createMCPEventWebhook as createWebhook } from '@ai-sdk/mcp'
import { Webhook } from 'standardwebhooks'
import { challengeIn, echo, type Outcome, type Post, type Stage } from './attack-stage.ts'
import { secretOf } from './receivers.ts'

export type Attack = {
  readonly front: string
  readonly name: string
  /** No other row runs at the same time. Default: others do. */
  readonly isAlone?: true
  /** Returns what happened. */
  readonly attack: (stage: Stage) => Promise<unknown>
  readonly expected: unknown
}

const refused = (code: number, message: string, data?: unknown, status = 200) => ({
  status,
  error: { code, message, ...(data !== undefined && { data }) },
})
const badUrl = (problem: string) => refused(-32602, `delivery.url is not accepted: ${problem}`)
const notPublic = badUrl('its host is not public')
const noUrl = badUrl('it is no absolute URL')
const credentials = badUrl('it must not contain credentials')
const fragment = badUrl('it must not have a fragment')
const scheme = badUrl('it needs the scheme https')
const notVerified = (reason: string) => refused(-32015, 'The callback URL did not answer the verification', { reason })
const badSecret = refused(-32602, 'delivery.secret must be "whsec_" and 24 to 64 bytes in base64')
const unknownEvent = (name: string) => refused(-32011, `Unknown event: ${name}`, { kind: 'event' })
const unknownSubscription = refused(-32011, 'Unknown subscription', { kind: 'subscription' })

type Rows = readonly (readonly [name: string, sent: string, expected: unknown])[]

/** A subscription with this callback URL. What is posted is part of the outcome. */
const subscribingTo = (front: string, rows: Rows): readonly Attack[] =>
  rows.map(([name, url, expected]) => ({
    front,
    name: `${name}: ${JSON.stringify(url)}`,
    attack: async (stage) => {
      const own = url.replaceAll('ROW', stage.host)
      // What must not be asked has no receiver.
      if (Object(expected).posted !== undefined) stage.listen(own)
      const outcome = await stage.subscribe(stage.params({}, { url: own }))
      return outcome === 'subscribed' ? { posted: stage.posts[0]?.url.replaceAll(stage.host, 'ROW') } : outcome
    },
    expected,
  }))

const addresses = subscribingTo('addresses', [
  ['loopback', 'https://127.0.0.1/', notPublic],
  ['loopback, another one', 'https://127.255.255.254/', notPublic],
  ['decimal', 'https://2130706433/', notPublic],
  ['octal', 'https://0177.0.0.01/', notPublic],
  ['octal as one number', 'https://017700000001/', notPublic],
  ['hex', 'https://0x7f000001/', notPublic],
  ['hex in upper case', 'https://0X7F.0.0.0X1/', notPublic],
  ['short', 'https://127.1/', notPublic],
  ['shorter', 'https://127.0.1/', notPublic],
  ['mixed', 'https://0x7f.0.1/', notPublic],
  ['unspecified', 'https://0.0.0.0/', notPublic],
  ['zero', 'https://0/', notPublic],
  ['private 10/8', 'https://10.255.255.255/', notPublic],
  ['private 10/8, short', 'https://10.1/', notPublic],
  ['private 172.16/12, its end', 'https://172.31.255.255/', notPublic],
  ['private 192.168/16 as a number', 'https://3232235777/', notPublic],
  ['shared 100.64/10', 'https://100.127.255.255/', notPublic],
  ['protocols 192.0.0/24, metadata of Oracle', 'https://192.0.0.192/', notPublic],
  ['documentation', 'https://203.0.113.7/', notPublic],
  ['relays of 6to4', 'https://192.88.99.1/', notPublic],
  ['benchmarks 198.18/15', 'https://198.19.255.255/', notPublic],
  ['multicast', 'https://239.255.255.250/', notPublic],
  ['reserved', 'https://240.0.0.1/', notPublic],
  ['broadcast', 'https://255.255.255.255/', notPublic],
  ['metadata', 'https://169.254.169.254/latest/meta-data/', notPublic],
  ['metadata, decimal', 'https://2852039166/', notPublic],
  ['metadata, octal', 'https://0251.0376.0251.0376/', notPublic],
  ['metadata, hex', 'https://0xa9.0xfe.0xa9.0xfe/', notPublic],
  ['metadata of containers', 'https://169.254.170.2/v2/credentials', notPublic],
  ['metadata of Alibaba', 'https://100.100.100.200/', notPublic],
  ['a number that is too large', 'https://4294967296/', noUrl],
  ['a part that is too large', 'https://127.0.0.256/', noUrl],
  ['five parts', 'https://127.0.0.0.1/', noUrl],
  ['a trailing dot', 'https://127.0.0.1./', notPublic],
  ['two trailing dots', 'https://127.0.0.1../', notPublic],
  ['a trailing dot after a number', 'https://2130706433./', notPublic],
  ['IPv6 loopback', 'https://[::1]/', notPublic],
  ['IPv6 loopback, long', 'https://[0000:0000:0000:0000:0000:0000:0000:0001]/', notPublic],
  ['IPv6 unspecified', 'https://[::]/', notPublic],
  ['IPv6 mapped', 'https://[::ffff:127.0.0.1]/', notPublic],
  ['IPv6 mapped, hex', 'https://[::FFFF:A9FE:A9FE]/', notPublic],
  ['IPv6 mapped, a public address', 'https://[::ffff:8.8.8.8]/', notPublic],
  ['IPv6 compatible', 'https://[::127.0.0.1]/', notPublic],
  ['IPv6 compatible, hex', 'https://[::a9fe:a9fe]/', notPublic],
  ['IPv6 translated', 'https://[::ffff:0:127.0.0.1]/', notPublic],
  ['NAT64', 'https://[64:ff9b::169.254.169.254]/', notPublic],
  ['NAT64, local', 'https://[64:ff9b:1::a9fe:a9fe]/', notPublic],
  ['6to4', 'https://[2002:7f00:1::]/', notPublic],
  ['6to4 of metadata', 'https://[2002:a9fe:a9fe::1]/', notPublic],
  ['Teredo', 'https://[2001::7f00:1]/', notPublic],
  ['ORCHID', 'https://[2001:20::1]/', notPublic],
  ['IPv6 link-local', 'https://[fe80::1]/', notPublic],
  ['IPv6 with a zone', 'https://[fe80::1%eth0]/', noUrl],
  ['IPv6 with an encoded zone', 'https://[fe80::1%25eth0]/', noUrl],
  ['IPv6 site-local', 'https://[fec0::1]/', notPublic],
  ['IPv6 unique local', 'https://[fc00::1]/', notPublic],
  ['IPv6 metadata of Amazon', 'https://[fd00:ec2::254]/', notPublic],
  ['IPv6 multicast', 'https://[ff02::1]/', notPublic],
  ['IPv6 documentation', 'https://[2001:db8::1]/', notPublic],
  ['IPv6 documentation, 3fff', 'https://[3fff:fff::1]/', notPublic],
  ['IPv6 discard', 'https://[100::1]/', notPublic],
  ['IPv6 segment routing', 'https://[5f00::1]/', notPublic],
  ['IPv6 without brackets', 'https://::1/', noUrl],
  ['fullwidth digits', 'https://１２７.0.0.1/', notPublic],
  ['fullwidth hex', 'https://０ｘ７ｆ000001/', notPublic],
  ['circled digits', 'https://①②⑦.⓪.⓪.①/', notPublic],
  ['ideographic dots', 'https://127。0．0｡1/', notPublic],
  ['a soft hyphen', 'https://127.0.0.\u00AD1/', notPublic],
  ['percent encodings', 'https://%31%32%37.0.0.1/', notPublic],
  ['encoded dots', 'https://127%2E0%2e0%2E1/', notPublic],
  ['encoded fullwidth digits', 'https://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1/', notPublic],
  ['an encoded NUL', 'https://127.0.0.1%00.example/', noUrl],
  ['a port', 'https://127.0.0.1:443/', notPublic],
  ['a port of a database', 'https://[::1]:6379/', notPublic],
  ['upper case', 'HTTPS://[::FFFF:7F00:1]/', notPublic],
  ['a backslash', 'https:\\\\127.0.0.1\\hook', notPublic],
  ['one slash', 'https:/127.0.0.1/', notPublic],
  ['no slash', 'https:127.0.0.1', notPublic],
  ['five slashes', 'https://///127.0.0.1/', notPublic],
  ['a tab', 'https://127.0.\t0.1/', notPublic],
  ['newlines', 'ht\ntps://127.0.0\r\n.1/', notPublic],
  ['spaces around', ' \u0000https://127.0.0.1/ ', notPublic],
  ['an empty user', 'https://@127.0.0.1/', notPublic],
  ['a public host as user', 'https://ROW@127.0.0.1/', credentials],
  ['a private host as user', 'https://127.0.0.1@ROW/', credentials],
  ['a password', 'https://user:password@ROW/', credentials],
  ['an empty password', 'https://user:@ROW/', credentials],
  ['an encoded slash in the user', 'https://ROW%2f@127.0.0.1/', credentials],
  ['an encoded hash in the user', 'https://ROW%23@127.0.0.1/', credentials],
  ['a backslash before the user', 'https://ROW\\@127.0.0.1/', { posted: 'https://ROW/@127.0.0.1/' }],
  ['a public address', 'https://8.8.8.8/accepted', { posted: 'https://8.8.8.8/accepted' }],
  ['a public address as a number', 'https://16843009/', { posted: 'https://1.1.1.1/' }],
  ['a public IPv6 address', 'https://[2606:4700::1111]/hook', { posted: 'https://[2606:4700::1111]/hook' }],
  ['the neighbors of private networks', 'https://172.32.0.1/', { posted: 'https://172.32.0.1/' }],
])

const names = subscribingTo('names', [
  ['localhost', 'https://localhost/', notPublic],
  ['upper case', 'https://LOCALHOST/', notPublic],
  ['a trailing dot', 'https://localhost./', notPublic],
  ['below localhost', 'https://a.localhost/', notPublic],
  ['fullwidth', 'https://ｌｏｃａｌｈｏｓｔ/', notPublic],
  ['circled', 'https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/', notPublic],
  ['percent encodings', 'https://%6c%6f%63alhost/', notPublic],
  ['a soft hyphen', 'https://local\u00ADhost/', notPublic],
  ['a zero-width space', 'https://local\u200Bhost/', notPublic],
  ['one label', 'https://printer/', notPublic],
  ['one label of metadata', 'https://metadata/computeMetadata/v1/', notPublic],
  ['localdomain', 'https://localhost.localdomain/', notPublic],
  ['mDNS', 'https://printer.local/', notPublic],
  ['metadata of Google', 'https://metadata.google.internal/', notPublic],
  ['metadata of Google, upper case and dot', 'https://METADATA.google.INTERNAL./', notPublic],
  ['Kubernetes', 'https://kubernetes.default.svc/', notPublic],
  ['Kubernetes, long', 'https://kubernetes.default.svc.cluster.local/', notPublic],
  ['home network', 'https://router.home.arpa/', notPublic],
  ['reserved', 'https://a.test/', notPublic],
  ['invalid', 'https://a.invalid/', notPublic],
  ['onion', 'https://expyuzz4wqqyqhjn.onion/', notPublic],
  ['a leading dot', 'https://.ROW/', notPublic],
  ['an empty label', 'https://a..ROW/', notPublic],
  ['two trailing dots', 'https://ROW../', notPublic],
  ['an encoded empty label', 'https://a%2e%2eexample.com/', notPublic],
  ['a space', 'https://a b.example/', noUrl],
  ['an encoded space', 'https://a%20b.example/', noUrl],
  ['an encoded slash', 'https://127.0.0.1%2f.example/', noUrl],
  ['a port that is too large', 'https://ROW:65536/', noUrl],
  ['a port that is no number', 'https://ROW:https/', noUrl],
  ['a trailing dot of a public name', 'https://ROW./hook', { posted: 'https://ROW./hook' }],
  ['upper case of a public name', 'https://ROW/Hook', { posted: 'https://ROW/Hook' }],
  ['the port of https', 'https://ROW:443/hook', { posted: 'https://ROW/hook' }],
  ['another port', 'https://ROW:8443/hook', { posted: 'https://ROW:8443/hook' }],
  ['a query, byte for byte', 'https://ROW/hook?a=%20&b=+', { posted: 'https://ROW/hook?a=%20&b=+' }],
  // The platform decides about these.
  ['a name of a loopback address', 'https://localtest.me/', { posted: 'https://localtest.me/' }],
  ['an address in a name', 'https://127.0.0.1.nip.io/', { posted: 'https://127.0.0.1.nip.io/' }],
  ['metadata in a name', 'https://169-254-169-254.sslip.io/', { posted: 'https://169-254-169-254.sslip.io/' }],
  ['a name that changes', 'https://7f000001.c0a80001.rbndr.us/', { posted: 'https://7f000001.c0a80001.rbndr.us/' }],
])

const schemes = subscribingTo('schemes', [
  ['http', 'http://ROW/', scheme],
  ['http to this machine', 'http://localhost/', scheme],
  ['ftp', 'ftp://ROW/', scheme],
  ['file', 'file:///etc/passwd', scheme],
  ['file with a host', 'file://ROW/etc/passwd', scheme],
  ['javascript', 'javascript:alert(1)', scheme],
  ['data', 'data:application/json,{}', scheme],
  ['blob', 'blob:https://ROW/1', scheme],
  ['websocket', 'wss://ROW/', scheme],
  ['gopher', 'gopher://ROW:6379/_FLUSHALL', scheme],
  ['an unknown one with a host', 'httpss://ROW/', scheme],
  ['none', '//ROW/', noUrl],
  ['a path', '/hook', noUrl],
  ['a name', 'ROW', noUrl],
  ['nothing', 'https://', noUrl],
  ['an empty text', '', noUrl],
  ['a fragment', 'https://ROW/#a', fragment],
  ['an empty fragment', 'https://ROW/#', fragment],
  ['a fragment after a newline', 'https://ROW/\n#', fragment],
  ['an encoded hash', 'https://ROW/%23a', { posted: 'https://ROW/%23a' }],
  ['2,049 characters', `https://a.example/${'x'.repeat(2031)}`, badUrl('it has more than 2048 characters')],
  ['2,048 characters', `https://a.example/${'x'.repeat(2030)}`, { posted: `https://a.example/${'x'.repeat(2030)}` }],
])

/** Where a redirect leads: nobody may be asked there. */
const targets = [
  ['https', 'https://stray.example/'],
  ['private', 'https://169.254.169.254/'],
  ['http', 'http://stray.example/'],
  ['loopback', 'http://127.0.0.1/'],
  ['itself', '/other'],
] as const
const redirecting = (status: number, location: string) => () =>
  new Response(null, { status, headers: { Location: location } })

const redirects: readonly Attack[] = [
  ...[301, 302, 303, 307, 308].flatMap((status) =>
    targets.map(
      ([to, location]): Attack => ({
        front: 'redirects',
        name: `a challenge that is answered with ${status} to ${to}`,
        attack: async (stage) => {
          stage.verify = redirecting(status, location)
          return [await stage.subscribe(), stage.posts.map(({ url }) => url.replace(stage.host, 'ROW'))]
        },
        expected: [notVerified('challenge_failed'), ['https://ROW/hook']],
      }),
    ),
  ),
  ...[300, 301, 302, 303, 304, 307, 308].map(
    (status): Attack => ({
      front: 'redirects',
      name: `an event that is answered with ${status} is repeated to the same URL`,
      attack: async (stage) => {
        await stage.subscribe()
        stage.answer = () =>
          stage.events.length === 1
            ? redirecting(status, 'https://169.254.169.254/')()
            : new Response(null, { status: 204 })
        const id = await stage.publish()
        const posts = await stage.received(2)
        return posts.map(({ url, headers }) => [url.replace(stage.host, 'ROW'), headers.get('webhook-id') === id])
      },
      expected: [
        ['https://ROW/hook', true],
        ['https://ROW/hook', true],
      ],
    }),
  ),
  {
    front: 'redirects',
    name: 'deliveryStatus has a category of the specification for a redirect, and not its target',
    attack: async (stage) => {
      await stage.subscribe()
      stage.answer = redirecting(307, 'https://stray.example/secret')
      await stage.publish()
      await stage.received(2)
      const { result } = await stage.send('events/subscribe', stage.params())
      const { active, lastError } = Object(result?.deliveryStatus)
      return { active, lastError }
    },
    expected: { active: true, lastError: 'http_4xx' },
  },
]

/** Others who know everything of a subscription but its owner. */
const strangers: readonly (readonly [name: string, change: object])[] = [
  ['another user', { subject: 'stranger' }],
  ['the same subject of another issuer', { issuer: 'https://evil.example' }],
  ['the same subject of a tenant', { tenant: 'acme' }],
  ['another client of the user', { client: 'other' }],
  ['a subject with the same letters', { subject: 'ROW\u0000' }],
]

const foreign: readonly Attack[] = strangers.flatMap(([who, change]): Attack[] => {
  const strangerOf = ({ user }: Stage) =>
    JSON.parse(JSON.stringify({ ...user, ...change }).replace('ROW', user.subject))
  return [
    {
      front: 'foreign subscriptions',
      name: `${who} cannot unsubscribe`,
      attack: async (stage) => {
        await stage.subscribe()
        const outcome = await stage.unsubscribe(stage.params(), strangerOf(stage))
        await stage.publish()
        return [outcome, (await stage.received(1)).length]
      },
      expected: [unknownSubscription, 1],
    },
    {
      front: 'foreign subscriptions',
      name: `${who} cannot refresh, read the status or change the secret`,
      attack: async (stage) => {
        const { result: own } = await stage.send('events/subscribe', stage.params())
        await stage.publish()
        await stage.received(1)
        const secret = secretOf('stolen')
        const { result } = await stage.send('events/subscribe', stage.params({}, { secret }), strangerOf(stage))
        await stage.publish({ total: 2 })
        await stage.received(3)
        const ids = stage.events.map(({ headers }) => headers.get('X-MCP-Subscription-Id'))
        return {
          sameId: result?.id === own?.id,
          status: result?.deliveryStatus,
          challenges: stage.challenges.length,
          forOwner: ids.filter((id) => id === own?.id).length,
          signedBySecretOf: stage.events.map((post) => {
            const isOwn = post.headers.get('X-MCP-Subscription-Id') === own?.id
            return isSigned(post, stage.secret) === isOwn && isSigned(post, secret) !== isOwn
          }),
        }
      },
      expected: { sameId: false, status: undefined, challenges: 2, forOwner: 2, signedBySecretOf: [true, true, true] },
    },
  ]
})

const foreignMore: readonly Attack[] = [
  {
    front: 'foreign subscriptions',
    name: 'a stranger whose URL does not answer gets nothing, and the owner keeps the subscription',
    attack: async (stage) => {
      await stage.subscribe()
      stage.verify = () => new Response(null, { status: 403 })
      const outcome = await stage.subscribe(stage.params(), { subject: 'stranger who fails' })
      await stage.publish()
      return [outcome, (await stage.received(1)).length]
    },
    expected: [notVerified('http_4xx'), 1],
  },
  {
    front: 'foreign subscriptions',
    name: 'an anonymous caller cannot subscribe',
    attack: async (stage) => {
      const { result, ...outcome } = await sendAnonymous(stage, 'events/subscribe')
      return [result, outcome, stage.posts.length]
    },
    expected: [undefined, refused(-32012, 'Only an authenticated caller can subscribe: send an access token'), 0],
  },
  {
    front: 'foreign subscriptions',
    name: 'an anonymous caller cannot unsubscribe',
    attack: (stage) => sendAnonymous(stage, 'events/unsubscribe'),
    expected: refused(-32012, 'Only an authenticated caller can subscribe: send an access token'),
  },
  {
    front: 'foreign subscriptions',
    name: 'an id in the params selects no subscription',
    attack: async (stage) => {
      const { result } = await stage.send('events/subscribe', stage.params())
      const params = stage.params({ id: result?.id }, { url: `${stage.url}/other`, id: result?.id })
      return stage.unsubscribe(params)
    },
    expected: unknownSubscription,
  },
]

const sendAnonymous = async (stage: Stage, method: string): Promise<Outcome> =>
  stage.sendAs(undefined, method, stage.params())

function isSigned({ text, headers }: Post, secret: string): boolean {
  try {
    new Webhook(secret).verify(text, Object.fromEntries(headers))
    return true
  } catch {
    return false
  }
}

/** How a receiver answers a challenge. */
type Replies = readonly (readonly [name: string, reply: Stage['verify'], expected: unknown])[]
const json = (text: string) => new Response(text, { headers: { 'Content-Type': 'application/json' } })
const failed = notVerified('challenge_failed')
const endless = (pauseMs: number) => () =>
  new Response(
    new ReadableStream<Uint8Array>({
      async pull(controller) {
        await setTimeout(pauseMs)
        controller.enqueue(new Uint8Array(1024).fill(32))
      },
    }),
  )

const challengeReplies: Replies = [
  ['another text', () => json('{"challenge":"x"}'), failed],
  ['its start', (post) => json(JSON.stringify({ challenge: challengeIn(post).slice(0, -1) })), failed],
  ['more', (post) => json(JSON.stringify({ challenge: `${challengeIn(post)} ` })), failed],
  ['another case', (post) => json(JSON.stringify({ challenge: challengeIn(post).toUpperCase() })), failed],
  ['an empty text', () => json('{"challenge":""}'), failed],
  ['nothing', () => new Response(null, { status: 200 }), failed],
  ['204', () => new Response(null, { status: 204 }), failed],
  ['plain text', (post) => new Response(challengeIn(post)), failed],
  ['a JSON text', (post) => json(JSON.stringify(challengeIn(post))), failed],
  ['a list', (post) => json(JSON.stringify([challengeIn(post)])), failed],
  ['a list in the object', (post) => json(JSON.stringify({ challenge: [challengeIn(post)] })), failed],
  ['an object in the object', (post) => json(JSON.stringify({ challenge: { challenge: challengeIn(post) } })), failed],
  ['another member', (post) => json(JSON.stringify({ Challenge: challengeIn(post) })), failed],
  ['the prototype', (post) => json(`{"__proto__":{"challenge":"${challengeIn(post)}"}}`), failed],
  ['the request', (post) => json(post.text), 'subscribed'],
  ['null', () => json('null'), failed],
  ['true', () => json('{"challenge":true}'), failed],
  ['broken JSON', (post) => json(`{"challenge":"${challengeIn(post)}"`), failed],
  ['two values', (post) => json(`{"challenge":"${challengeIn(post)}"} {}`), failed],
  ['a form', (post) => new Response(new URLSearchParams({ challenge: challengeIn(post) })), failed],
  ['a form in the Content-Type of JSON', (post) => json(`challenge=${challengeIn(post)}`), failed],
  ['a header', (post) => new Response(null, { headers: { challenge: challengeIn(post) } }), failed],
  ['201', (post) => Response.json({ challenge: challengeIn(post) }, { status: 201 }), 'subscribed'],
  ['the echo in 300', (post) => Response.json({ challenge: challengeIn(post) }, { status: 300 }), failed],
  [
    'the echo in 400',
    (post) => Response.json({ challenge: challengeIn(post) }, { status: 400 }),
    notVerified('http_4xx'),
  ],
  [
    'the echo in 401',
    (post) => Response.json({ challenge: challengeIn(post) }, { status: 401 }),
    notVerified('http_4xx'),
  ],
  [
    'the echo in 410',
    (post) => Response.json({ challenge: challengeIn(post) }, { status: 410 }),
    notVerified('http_4xx'),
  ],
  [
    'the echo in 500',
    (post) => Response.json({ challenge: challengeIn(post) }, { status: 500 }),
    notVerified('http_5xx'),
  ],
  [
    'the echo in 503',
    (post) => Response.json({ challenge: challengeIn(post) }, { status: 503 }),
    notVerified('http_5xx'),
  ],
  [
    'the echo before 4,096 bytes',
    (post) => json(JSON.stringify({ challenge: challengeIn(post), padding: 'x'.repeat(4096) })),
    failed,
  ],
  [
    'the echo after a megabyte',
    (post) => json(`${' '.repeat(1_000_000)}${JSON.stringify({ challenge: challengeIn(post) })}`),
    failed,
  ],
  ['an endless body', endless(0), failed],
  [
    'a gzip bomb',
    () =>
      new Response(gzipSync(Buffer.alloc(10_000_000, ' ')), {
        headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
      }),
    failed,
  ],
]

/** What takes as long as the timeout. */
const lateReplies: Replies = [
  ['a body that drips', endless(200), notVerified('timeout')],
  ['no answer', () => new Promise<Response>(() => {}), notVerified('timeout')],
  [
    'the echo after the timeout',
    async (post) => {
      await setTimeout(1500)
      return echo(post)
    },
    notVerified('timeout'),
  ],
]

const answering = (replies: Replies): readonly Attack[] =>
  replies.map(([name, reply, expected]) => ({
    front: 'challenges',
    name: `is answered with ${name}`,
    attack: async (stage) => {
      stage.verify = reply
      return stage.subscribe()
    },
    expected,
  }))

const challenges: readonly Attack[] = [
  ...answering(challengeReplies),
  {
    front: 'challenges',
    name: 'is answered with that of another subscription, which runs at the same time',
    attack: async (stage) => {
      const both = Promise.withResolvers<void>()
      const texts: string[] = []
      stage.verify = async (post) => {
        texts.push(challengeIn(post))
        if (texts.length === 2) both.resolve()
        await both.promise
        return Response.json({ challenge: texts.find((text) => text !== challengeIn(post)) })
      }
      return Promise.all([1, 2].map((path) => stage.subscribe(stage.params({}, { url: `${stage.url}/${path}` }))))
    },
    expected: [failed, failed],
  },
  {
    front: 'challenges',
    name: 'is answered with that of the verification before',
    attack: async (stage) => {
      stage.verify = () => new Response(null, { status: 500 })
      await stage.subscribe()
      const [first] = stage.challenges
      stage.verify = () => (first ? echo(first) : Response.error())
      return [await stage.subscribe(), new Set(stage.challenges.map(challengeIn)).size]
    },
    expected: [failed, 2],
  },
  {
    front: 'challenges',
    name: 'a verified URL counts for its user only',
    attack: async (stage) => {
      await stage.subscribe()
      stage.verify = () => new Response(null, { status: 404 })
      return [
        await stage.subscribe(stage.params(), { ...stage.user, client: 'other' }),
        await stage.subscribe(stage.params(), { subject: 'who verified nothing' }),
        await stage.subscribe(stage.params({}, { url: `${stage.url}?` })),
        await stage.subscribe(),
      ]
    },
    expected: [notVerified('http_4xx'), notVerified('http_4xx'), notVerified('http_4xx'), 'subscribed'],
  },
  {
    front: 'challenges',
    name: 'an event that is published meanwhile does not reach a URL that is not verified',
    attack: async (stage) => {
      stage.verify = async () => {
        await stage.publish()
        return new Response(null, { status: 404 })
      }
      return [await stage.subscribe(), stage.events.length]
    },
    expected: [notVerified('http_4xx'), 0],
  },
  {
    front: 'challenges',
    name: 'says nothing of the caller',
    attack: async (stage) => {
      await stage.subscribe(stage.params(), { ...stage.user, claims: { email: 'private@example.com' } })
      const [post] = stage.challenges
      const names = [...(post?.headers.keys() ?? [])].filter((name) => !platformHeaders.includes(name))
      return [Object.keys(JSON.parse(post?.text ?? '')).sort(), names.sort()]
    },
    expected: [
      ['challenge', 'type'],
      [
        'content-length',
        'content-type',
        'webhook-id',
        'webhook-signature',
        'webhook-timestamp',
        'x-mcp-subscription-id',
      ],
    ],
  },
]

/** What the platform adds to each request of a Worker. */
const platformHeaders = ['host', 'connection', 'accept-encoding', 'cf-worker', 'user-agent', 'cf-ray', 'mf-loopback']

/** What somebody sends to a receiver who has seen one POST. */
type Replays = readonly (readonly [name: string, change: (post: Replay) => Replay, problem: string, status: number])[]
type Replay = { readonly text: string; readonly headers: Readonly<Record<string, string>>; readonly lateMs: number }
const withHeader = (name: string, value: string) => (post: Replay) => ({
  ...post,
  headers: { ...post.headers, [name]: value },
})
const noMatch = 'No matching signature found'
const replayed: Replays = [
  ['the same POST 301 seconds later', (post) => ({ ...post, lateMs: 301_000 }), 'Message timestamp too old', 401],
  ['the same POST an hour later', (post) => ({ ...post, lateMs: 3_600_000 }), 'Message timestamp too old', 401],
  ['the same POST 301 seconds before', (post) => ({ ...post, lateMs: -302_000 }), 'Message timestamp too new', 401],
  [
    'an old POST with a new timestamp',
    (post) => ({
      ...withHeader('webhook-timestamp', String(Number(post.headers['webhook-timestamp']) + 301))(post),
      lateMs: 301_000,
    }),
    noMatch,
    401,
  ],
  ['another id', withHeader('webhook-id', 'evt_another'), noMatch, 401],
  ['another body', (post) => ({ ...post, text: post.text.replace('"total":1', '"total":9') }), noMatch, 401],
  ['a body with a space', (post) => ({ ...post, text: `${post.text} ` }), noMatch, 401],
  ['no signature', withHeader('webhook-signature', ''), 'Missing required headers', 401],
  [
    'a signature of another version',
    (post) => ({
      ...post,
      headers: { ...post.headers, 'webhook-signature': String(post.headers['webhook-signature']).replace('v1', 'v2') },
    }),
    noMatch,
    401,
  ],
  ['a signature of zeros', withHeader('webhook-signature', `v1,${Buffer.alloc(32).toString('base64')}`), noMatch, 401],
  [
    'the signature of another secret',
    (post) => ({
      ...post,
      headers: { ...post.headers, 'webhook-signature': resigned(post, secretOf('another')) },
    }),
    noMatch,
    401,
  ],
  ['another subscription', withHeader('x-mcp-subscription-id', 'sub_another'), 'accepted', 401],
  ['the POST itself', (post) => post, 'accepted', 204],
]

function resigned({ text, headers }: Replay, secret: string): string {
  const at = new Date(Number(headers['webhook-timestamp']) * 1000)
  return new Webhook(secret).sign(String(headers['webhook-id']), at, text)
}

const replays: readonly Attack[] = replayed.map(([name, change, problem, status]) => ({
  front: 'replays',
  name,
  // It changes the clock of this process.
  isAlone: true,
  attack: async (stage) => {
    const url = `${stage.url}?mcp_event_subscription=key`
    const { result } = await stage.send('events/subscribe', stage.params({}, { url }))
    await stage.publish()
    const [post] = await stage.received(1)
    if (!post) return undefined
    const { text, headers, lateMs } = change({ text: post.text, headers: Object.fromEntries(post.headers), lateMs: 0 })
    const delivery = { mode: 'webhook', url, secret: stage.secret }
    const subscription = { key: 'key', id: result?.id, name: 'order.paid', arguments: {}, delivery, status: 'active' }
    const store = { get: async () => subscription, update: async () => {} }
    // The store has what the receiver reads.
    const webhook = createWebhook({ store: store as never, onEvent: async () => {} })
    return stage.at(lateMs, async () => {
      const { status } = await webhook(new Request(url, { method: 'POST', headers, body: text }))
      try {
        new Webhook(stage.secret).verify(text, headers)
        return ['accepted', status]
      } catch (found) {
        return [found instanceof Error ? found.message : found, status]
      }
    })
  },
  expected: [problem, status],
}))

/** Places in which nothing private may be. */
const secrets: readonly Attack[] = [
  {
    front: 'secrets',
    name: 'are in no row of any object, and in no report',
    isAlone: true,
    attack: async (stage) => {
      const user = { ...stage.user, claims: { email: 'rows@private.example' }, scopes: ['scope-of-rows'] }
      await stage.subscribe(stage.params(), user)
      await stage.subscribe(stage.params({}, { secret: secretOf('second of the row') }), user)
      stage.answer = () => new Response('text of the receiver', { status: 413 })
      await stage.publish()
      await stage.received(1)
      stage.answer = () => new Response('text of the receiver', { status: 503 })
      await stage.publish({ total: 2 })
      await stage.received(2)
      const text = `${await stage.stored()} ${JSON.stringify(stage.server.harness.getLogs())}`
      const found = (part: string) => text.includes(part)
      return {
        subscription: found(stage.url),
        secrets: [stage.secret, secretOf('second of the row')].map((secret) => found(secret.slice('whsec_'.length))),
        raw: [stage.secret].map((secret) => found(Buffer.from(secret.slice(6), 'base64').toString('latin1'))),
        prefix: found('whsec_'),
        claims: found('rows@private.example'),
        scopes: found('scope-of-rows'),
        challenge: stage.challenges.map((post) => found(challengeIn(post))),
        answers: found('text of the receiver'),
      }
    },
    expected: {
      subscription: true,
      secrets: [false, false],
      raw: [false],
      prefix: false,
      claims: false,
      scopes: false,
      challenge: [false],
      answers: false,
    },
  },
  ...(
    [
      ['arguments', { arguments: { shop: 1 } }, {}],
      ['the URL', {}, { url: 'https://localhost/' }],
      ['the secret itself', {}, { secret: 'whsec_c2VjcmV0LXRoYXQtaXMtc2hvcnQ=' }],
      ['the event', { name: 'unknown' }, {}],
      ['the lifetime', { ttlMs: 'long' }, {}],
    ] as const
  ).map(
    ([what, change, delivery]): Attack => ({
      front: 'secrets',
      name: `are in no error about ${what}`,
      attack: async (stage) => {
        const params = stage.params(change, delivery)
        const outcome = JSON.stringify(await stage.subscribe(params))
        return [outcome.includes('"error"'), outcome.includes(String(params.delivery.secret).slice('whsec_'.length))]
      },
      expected: [true, false],
    }),
  ),
  {
    front: 'secrets',
    name: 'are in no result and no deliveryStatus',
    attack: async (stage) => {
      await stage.subscribe()
      stage.answer = () => new Response('text of the receiver', { status: 500, headers: { 'X-Secret': 'header' } })
      await stage.publish()
      await stage.received(2)
      const { result } = await stage.send('events/subscribe', stage.params())
      const { failedSince, ...status } = Object(result?.deliveryStatus)
      const { _meta, ...members } = Object(result)
      return { members: Object.keys(members).sort(), status, since: Number.isNaN(Date.parse(failedSince)) }
    },
    expected: {
      members: ['cursor', 'deliveryStatus', 'id', 'refreshBefore', 'resultType', 'truncated'],
      status: { active: true, lastError: 'http_5xx' },
      since: false,
    },
  },
  {
    front: 'secrets',
    name: 'an id does not contain the URL, the user or the secret',
    attack: async (stage) => {
      const { result } = await stage.send('events/subscribe', stage.params())
      const decoded = Buffer.from(String(result?.id).replace('sub_', ''), 'base64url')
      return [decoded.byteLength, decoded.includes(stage.host), /^sub_[\w-]{43}$/.test(String(result?.id))]
    },
    expected: [32, false, true],
  },
]

const repeat = async <T>(count: number, work: (index: number) => Promise<T>): Promise<readonly T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))

/** The limit that an outcome names, or why a URL is not verified. */
function reasonOf(outcome: unknown): string {
  const { limit, reason } = Object(Object(Object(outcome).error).data)
  return typeof outcome === 'string' ? outcome : String(limit ?? reason)
}

const counted = (outcomes: readonly unknown[]): Readonly<Record<string, number>> =>
  Object.fromEntries([...Map.groupBy(outcomes, reasonOf)].map(([reason, { length }]) => [reason, length]))

const crowd: readonly Attack[] = [
  {
    front: 'amplification',
    name: 'all users make at most 300 verifications of a host in a minute',
    isAlone: true,
    attack: async (stage) => {
      stage.verify = () => new Response(null, { status: 500 })
      const subscribe = (index: number) =>
        stage.subscribe(stage.params({}, { url: `${stage.url}/${index}` }), { subject: `${stage.host} ${index}` })
      const outcomes: unknown[] = []
      for (let first = 0; first < 310; first += 20) {
        outcomes.push(...(await repeat(Math.min(20, 310 - first), (index) => subscribe(first + index))))
      }
      return [counted(outcomes), stage.challenges.length]
    },
    expected: [{ http_5xx: 300, verificationsOfHost: 10 }, 300],
  },
]

const amplification: readonly Attack[] = [
  {
    front: 'amplification',
    name: 'a user makes at most 20 failing verifications, at the same time too',
    attack: async (stage) => {
      stage.verify = () => new Response(null, { status: 404 })
      const outcomes = await repeat(30, (index) => stage.subscribe(stage.params({}, { url: `${stage.url}/${index}` })))
      return [counted(outcomes), stage.challenges.length]
    },
    expected: [{ http_4xx: 20, failedVerifications: 10 }, 20],
  },
  {
    front: 'amplification',
    name: 'the limit of verifications has its message',
    attack: async (stage) => {
      stage.verify = () => new Response(null, { status: 404 })
      await repeat(20, (index) => stage.subscribe(stage.params({}, { url: `${stage.url}/${index}` })))
      return stage.subscribe()
    },
    expected: refused(-32013, 'The limit of 20 is reached: failedVerifications', {
      limit: 'failedVerifications',
      max: 20,
    }),
  },
  {
    front: 'amplification',
    name: 'another client of the user has the same limit',
    attack: async (stage) => {
      stage.verify = () => new Response(null, { status: 404 })
      await repeat(20, (index) =>
        stage.subscribe(stage.params({}, { url: `${stage.url}/${index}` }), {
          ...stage.user,
          client: `client ${index}`,
        }),
      )
      return counted([await stage.subscribe()])
    },
    expected: { failedVerifications: 1 },
  },
  {
    front: 'amplification',
    name: 'a user has at most maxSubscriptions, of all events together, at the same time too',
    attack: async (stage) => {
      const outcomes = await repeat(9, (index) => stage.subscribe(stage.params({}, { url: `${stage.url}/${index}` })))
      return [counted(outcomes), await stage.subscribe()]
    },
    expected: [
      { subscribed: 5, subscriptions: 4 },
      refused(-32013, 'The limit of 5 is reached: subscriptions', { limit: 'subscriptions', max: 5 }),
    ],
  },
  {
    front: 'amplification',
    name: 'a subscription that is refreshed is one, and is verified once',
    attack: async (stage) => {
      await stage.subscribe()
      const outcomes = await repeat(20, () => stage.subscribe())
      await stage.publish()
      return [counted(outcomes), stage.challenges.length, (await stage.received(1)).length]
    },
    expected: [{ subscribed: 20 }, 1, 1],
  },
  {
    front: 'amplification',
    name: 'arguments in another order are the same subscription',
    attack: async (stage) => {
      const { user, url, secret, host } = stage
      const delivery = JSON.stringify({ mode: 'webhook', url, secret })
      const paramsOf = (args: string) => `{"name":"order.paid","arguments":${args},"delivery":${delivery}}`
      const one = await stage.send('events/subscribe', paramsOf(`{"shop":"${host}","a":1,"b":2}`), user)
      const other = await stage.send('events/subscribe', paramsOf(`{"b":2e0, "a":1.0, "shop":"${host}"}`), user)
      return one.result?.id === other.result?.id
    },
    expected: true,
  },
  {
    front: 'amplification',
    name: '20 publications to a receiver that fails are two attempts at the same time',
    attack: async (stage) => {
      await stage.subscribe()
      let [running, most] = [0, 0]
      const stop = Promise.withResolvers<void>()
      stage.answer = async () => {
        running += 1
        most = Math.max(most, running)
        await stop.promise
        running -= 1
        return new Response(null, { status: 503 })
      }
      await repeat(20, (index) => stage.publish({ total: index }))
      await stage.received(2)
      // Others of the user do not change that.
      await stage.publish({ total: 21 })
      stop.resolve()
      await stage.received(6)
      return most
    },
    expected: 2,
  },
  {
    front: 'amplification',
    name: 'arguments of 4,097 characters',
    attack: (stage) => stage.subscribe(stage.params({ arguments: { shop: 'x'.repeat(4097 - '{"shop":""}'.length) } })),
    expected: refused(-32602, 'params.arguments has more than 4096 characters of JSON'),
  },
  {
    front: 'amplification',
    name: 'arguments of 4,096 characters',
    attack: (stage) => stage.subscribe(stage.params({ arguments: { shop: 'x'.repeat(4096 - '{"shop":""}'.length) } })),
    expected: 'subscribed',
  },
  {
    front: 'amplification',
    name: 'arguments that are deeply nested',
    attack: (stage) => {
      const nested = `${'['.repeat(1500)}${']'.repeat(1500)}`
      const { name, delivery } = stage.params()
      return stage.subscribe(
        `{"name":"${name}","arguments":{"shop":"${stage.host}","x":${nested}},"delivery":${JSON.stringify(delivery)}}`,
      )
    },
    expected: refused(-32600, 'The body has more than 128 levels', undefined, 400),
  },
  {
    front: 'amplification',
    name: 'a number beyond the largest one',
    attack: (stage) => {
      const { name, delivery } = stage.params()
      return stage.subscribe(
        `{"name":"${name}","arguments":{"shop":"${stage.host}","x":1e999},"delivery":${JSON.stringify(delivery)}}`,
      )
    },
    expected: refused(-32602, 'params.arguments has a number beyond the largest one'),
  },
  {
    front: 'amplification',
    name: 'an event of 262,145 bytes, in characters of two bytes',
    attack: (stage) => stage.publish({ shop: `x${'é'.repeat(131_001)}` }),
    expected: 'Error: The payload of event "order.paid" is too large: its event has 262145 bytes of at most 262144',
  },
  {
    front: 'amplification',
    name: 'an event of 262,144 bytes',
    attack: async (stage) => (await stage.publish({ shop: 'é'.repeat(131_001) })).slice(0, 4),
    expected: 'evt_',
  },
  {
    front: 'amplification',
    name: 'an event for others costs a subscription nothing',
    attack: async (stage) => {
      await stage.subscribe()
      await repeat(20, () => stage.publish({ shop: 'elsewhere' }))
      await stage.publish({ total: 7 })
      const posts = await stage.received(1)
      return posts.map(({ text }) => JSON.parse(text).data.total)
    },
    expected: [7],
  },
  ...(
    [
      [0, 60_000],
      [1, 60_000],
      [1e308, 7 * 86_400_000],
      [null, 7 * 86_400_000],
      [3_600_000, 3_600_000],
    ] as const
  ).map(
    ([ttlMs, expected]): Attack => ({
      front: 'amplification',
      name: `a lifetime of ${ttlMs} ms`,
      attack: async (stage) => {
        const { result } = await stage.send('events/subscribe', stage.params({ ttlMs }))
        return Math.round((Date.parse(String(result?.refreshBefore)) - Date.now()) / 60_000) * 60_000
      },
      expected,
    }),
  ),
  ...['-1', '"1h"', '[]', 'true', '{}'].map(
    (ttl): Attack => ({
      front: 'amplification',
      name: `a lifetime of ${ttl}`,
      attack: (stage) => stage.subscribe(stage.params({ ttlMs: JSON.parse(ttl) })),
      expected: refused(-32602, 'ttlMs must be a number of 0 or more, or null'),
    }),
  ),
]

const bytes = (count: number) => `whsec_${Buffer.alloc(count, 'x').toString('base64')}`
const badSecrets: readonly Attack[] = (
  [
    ['none', undefined, badSecret],
    ['null', null, badSecret],
    ['a number', 1, badSecret],
    ['a list', [bytes(32)], badSecret],
    ['an object', { toString: bytes(32) }, badSecret],
    ['an empty text', '', badSecret],
    ['the prefix only', 'whsec_', badSecret],
    ['no prefix', bytes(32).slice(6), badSecret],
    ['another case of the prefix', bytes(32).replace('whsec', 'WHSEC'), badSecret],
    ['two prefixes', `whsec_${bytes(32)}`, badSecret],
    ['a prefix of a private key', bytes(32).replace('whsec', 'whsk'), badSecret],
    ['23 bytes', bytes(23), badSecret],
    ['24 bytes', bytes(24), 'subscribed'],
    ['64 bytes', bytes(64), 'subscribed'],
    ['65 bytes', bytes(65), badSecret],
    ['a megabyte', bytes(700_000), badSecret],
    ['base64url', `whsec_${'-_'.repeat(16)}`, badSecret],
    ['a space in it', `whsec_${'A'.repeat(20)} ${'A'.repeat(20)}`, badSecret],
    ['a newline after it', `${bytes(33)}\n`, badSecret],
    ['a newline before it', `\n${bytes(33)}`, badSecret],
    ['a header after it', `${bytes(33)}\r\nX-Evil: 1`, badSecret],
    ['a NUL after it', `${bytes(33)}\u0000`, badSecret],
    ['padding in it', `whsec_${'A'.repeat(16)}==${'A'.repeat(16)}`, badSecret],
    ['padding that is too long', `${bytes(32)}=`, badSecret],
    ['fullwidth letters', `whsec_${'Ａ'.repeat(44)}`, badSecret],
    ['an impossible length', `whsec_${'A'.repeat(33)}`, badSecret],
  ] as const
).map(([name, secret, expected]) => ({
  front: 'bad secrets',
  name,
  attack: async (stage) => {
    const outcome = await stage.subscribe(stage.params({}, { secret }))
    const isSignedWell = stage.challenges.every((post) => isSigned(post, String(secret)))
    return isSignedWell ? outcome : 'a signature of another secret'
  },
  expected,
}))

const recipientKinds = '{ user: ctx.principal }, { tenant: { issuer, tenant } } or { everyone: true }'

const prototypes: readonly Attack[] = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', 'then', ''].map(
    (name): Attack => ({
      front: 'prototype names',
      name: `an event ${JSON.stringify(name)}`,
      attack: async (stage) => [await stage.subscribe(stage.params({ name })), stage.posts.length],
      expected: [unknownEvent(name), 0],
    }),
  ),
  ...(
    [
      [
        'instead of the arguments',
        '{"__proto__":{"shop":"ROW"}}',
        refused(
          -32602,
          'Invalid arguments for event "order.paid": shop: Invalid input: expected string, received undefined',
        ),
      ],
      ['beside the arguments', '{"shop":"ROW","__proto__":{"isAdmin":true}}', 'subscribed'],
      ['constructor beside the arguments', '{"shop":"ROW","constructor":{"prototype":{"a":1}}}', 'subscribed'],
      ['toJSON beside the arguments', '{"shop":"ROW","toJSON":"x"}', 'subscribed'],
    ] as const
  ).map(
    ([name, args, expected]): Attack => ({
      front: 'prototype names',
      name,
      attack: async (stage) => {
        const { name, delivery } = stage.params()
        const text = args.replace('ROW', stage.host)
        const outcome = await stage.subscribe(
          `{"name":"${name}","arguments":${text},"delivery":${JSON.stringify(delivery)}}`,
        )
        if (outcome !== 'subscribed') return outcome
        await stage.publish()
        return (await stage.received(1)).length === 1 ? outcome : 'not received'
      },
      expected,
    }),
  ),
  {
    front: 'prototype names',
    name: '__proto__ beside the arguments is another subscription',
    attack: async (stage) => {
      const delivery = JSON.stringify(stage.params().delivery)
      const subscribe = (args: string) =>
        stage.send('events/subscribe', `{"name":"order.paid","arguments":${args},"delivery":${delivery}}`)
      const one = await subscribe(`{"shop":"${stage.host}"}`)
      const other = await subscribe(`{"shop":"${stage.host}","__proto__":{}}`)
      return one.result?.id === other.result?.id
    },
    expected: false,
  },
  {
    front: 'prototype names',
    name: 'the delivery in __proto__',
    attack: (stage) => {
      const delivery = JSON.stringify(stage.params().delivery)
      return stage.subscribe(
        `{"name":"order.paid","arguments":{"shop":"${stage.host}"},"delivery":{"__proto__":${delivery}}}`,
      )
    },
    expected: refused(-32014, 'delivery.mode must be "webhook"', { feature: 'deliveryMode' }),
  },
  ...['__proto__', 'constructor', 'toString'].flatMap((name): Attack[] => [
    {
      front: 'prototype names',
      name: `events with the key ${name} are in order`,
      attack: async (stage) => {
        await stage.subscribe()
        for (const total of [1, 2, 3]) await stage.publish({ total }, { everyone: true }, { key: name })
        return (await stage.received(3)).map(({ text }) => JSON.parse(text).data.total)
      },
      expected: [1, 2, 3],
    },
    {
      front: 'prototype names',
      name: `a tenant ${name} has its own events`,
      attack: async (stage) => {
        await stage.subscribe(stage.params({}, { url: `${stage.url}/tenant` }), { ...stage.user, tenant: name })
        await stage.subscribe(stage.params({}, { url: `${stage.url}/none` }))
        const issuer = 'https://idp.example'
        await stage.publish({ total: 1 }, { tenant: { issuer, tenant: name } })
        await stage.publish({ total: 2 }, { everyone: true })
        const posts = await stage.received(3)
        return posts.map(({ url, text }) => [url.slice(url.lastIndexOf('/')), JSON.parse(text).data.total]).sort()
      },
      expected: [
        ['/none', 2],
        ['/tenant', 1],
        ['/tenant', 2],
      ],
    },
  ]),
  {
    front: 'prototype names',
    name: 'a payload with __proto__ is delivered as its schema says',
    attack: async (stage) => {
      await stage.subscribe()
      const body = `{"name":"order.paid","payload":{"shop":"${stage.host}","total":1,"__proto__":{"total":9}},"recipients":{"everyone":true},"options":{}}`
      await fetch(new URL('/publish', stage.server.url), { method: 'POST', body })
      const [post] = await stage.received(1)
      return JSON.parse((post?.text ?? '').replace(stage.host, 'ROW')).data
    },
    expected: { shop: 'ROW', total: 1 },
  },
  ...(
    [
      [
        '{"__proto__":{"everyone":true}}',
        'the recipients of publish() does not take "__proto__": it takes user, tenant and everyone',
      ],
      ['{"everyone":false}', `"everyone" of the recipients of publish() must be true: ${recipientKinds}`],
      ['{"everyone":"true"}', `"everyone" of the recipients of publish() must be true: ${recipientKinds}`],
      [
        '{"everyone":true,"user":{"issuer":"a","subject":"b"}}',
        `publish() needs one kind of recipients: ${recipientKinds}`,
      ],
      [
        '{"user":{"__proto__":{"issuer":"a","subject":"b"}}}',
        '"user.issuer" of the recipients of publish() must be a non-empty string, not undefined',
      ],
      [
        '{"tenant":{"issuer":"https://idp.example"}}',
        '"tenant.tenant" of the recipients of publish() must be a non-empty string, not undefined',
      ],
      ['[]', `"recipients" of publish() must be ${recipientKinds}, not []`],
      ['null', `"recipients" of publish() must be ${recipientKinds}, not null`],
      ['"everyone"', `"recipients" of publish() must be ${recipientKinds}, not "everyone"`],
    ] as const
  ).map(
    ([recipients, expected]): Attack => ({
      front: 'prototype names',
      name: `recipients ${recipients}`,
      attack: async (stage) => {
        const body = `{"name":"order.paid","payload":{"shop":"${stage.host}","total":1},"recipients":${recipients},"options":{}}`
        const response = await fetch(new URL('/publish', stage.server.url), { method: 'POST', body })
        return response.json()
      },
      expected: { problem: `Error: ${expected}` },
    }),
  ),
]

const ownHeaders = [
  'content-length',
  'content-type',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
  'x-mcp-subscription-id',
]
const evil = 'x\r\nX-Evil: 1\r\n\r\n'
const headersOf = (posts: readonly Post[]) =>
  posts.map(({ headers }) => [...headers.keys()].filter((name) => !platformHeaders.includes(name)).sort())

const injections: readonly Attack[] = [
  {
    front: 'header injection',
    name: 'through the name of an event',
    attack: async (stage) => [await stage.subscribe(stage.params({ name: `order.paid${evil}` })), stage.posts.length],
    expected: [unknownEvent(`order.paid${evil}`), 0],
  },
  {
    front: 'header injection',
    name: 'through the URL',
    attack: async (stage) => [
      await stage.subscribe(stage.params({}, { url: `${stage.url}/${evil}` })),
      stage.posts.map(({ url }) => url.replace(stage.host, 'ROW')),
      headersOf(stage.posts),
    ],
    expected: ['subscribed', ['https://ROW/hook/xX-Evil:%201'], [ownHeaders]],
  },
  {
    front: 'header injection',
    name: 'through encoded newlines of the URL',
    attack: async (stage) => [
      await stage.subscribe(stage.params({}, { url: `${stage.url}/%0d%0aX-Evil:1` })),
      stage.posts.map(({ url }) => url.replace(stage.host, 'ROW')),
      headersOf(stage.posts),
    ],
    expected: ['subscribed', ['https://ROW/hook/%0d%0aX-Evil:1'], [ownHeaders]],
  },
  ...(['subject', 'tenant', 'issuer', 'client'] as const).map(
    (claim): Attack => ({
      front: 'header injection',
      name: `through the ${claim} of the caller`,
      attack: async (stage) => {
        await stage.subscribe(stage.params(), { ...stage.user, [claim]: `${stage.host}${evil}` })
        await stage.publish()
        await stage.received(1)
        return headersOf(stage.posts)
      },
      expected: [ownHeaders, ownHeaders],
    }),
  ),
  {
    front: 'header injection',
    name: 'through arguments, payload and key',
    attack: async (stage) => {
      const shop = `${stage.host}${evil}`
      await stage.subscribe(stage.params({ arguments: { shop } }))
      await stage.publish({ shop }, { everyone: true }, { key: evil })
      const [post] = await stage.received(1)
      return [headersOf(stage.posts), JSON.parse(post?.text ?? '').data.shop === shop]
    },
    expected: [[ownHeaders, ownHeaders], true],
  },
  {
    front: 'header injection',
    name: 'ids are made by the server',
    attack: async (stage) => {
      const params = stage.params({ id: evil, eventId: evil }, { id: evil, headers: { 'X-Evil': '1' } })
      await stage.subscribe(params)
      await stage.publish({ eventId: evil, id: evil })
      await stage.received(1)
      const [challenge, event] = stage.posts.map(({ headers }) => headers.get('webhook-id') ?? '')
      return [
        headersOf(stage.posts),
        /^msg_verification_[\w-]{32}$/.test(challenge ?? ''),
        /^evt_[\w-]{36}$/.test(event ?? ''),
      ]
    },
    expected: [[ownHeaders, ownHeaders], true, true],
  },
]

const endings: readonly Attack[] = [
  {
    front: 'revoked principals',
    name: 'a user who is revoked receives nothing, also of what waits',
    attack: async (stage) => {
      await stage.subscribe()
      stage.answer = () => new Response(null, { status: 503 })
      await stage.publish()
      await stage.received(1)
      stage.internet.users.set(stage.user.subject, undefined)
      await stage.publish({ total: 2 })
      await stage.terminated
      return [await stage.unsubscribe(), stage.totals]
    },
    expected: [unknownSubscription, [1]],
  },
  {
    front: 'revoked principals',
    name: 'a user who is revoked receives nothing under an event to everyone',
    attack: async (stage) => {
      await stage.subscribe()
      await stage.subscribe(stage.params({}, { url: `${stage.url}/other` }), { subject: `${stage.host} other` })
      stage.internet.users.set(stage.user.subject, undefined)
      await stage.publish({ total: 2 })
      await stage.received(1)
      await stage.terminated
      return stage.events.map(({ url }) => url.replace(stage.host, 'ROW'))
    },
    expected: ['https://ROW/hook/other'],
  },
  {
    front: 'revoked principals',
    name: 'a user who returns does not get a subscription back that has ended',
    attack: async (stage) => {
      await stage.subscribe()
      stage.internet.users.set(stage.user.subject, undefined)
      await stage.publish({ total: 1 })
      await stage.terminated
      stage.internet.users.delete(stage.user.subject)
      await stage.publish({ total: 2 })
      const again = await stage.subscribe()
      await stage.publish({ total: 3 })
      await stage.received(1)
      return [again, stage.totals, stage.challenges.length]
    },
    expected: ['subscribed', [3], 2],
  },
  {
    front: 'revoked principals',
    name: 'a user who loses a scope receives nothing more',
    attack: async (stage) => {
      stage.internet.users.set(stage.user.subject, ['audit'])
      const params = stage.params({ name: 'order.audited', arguments: {} })
      const user = { ...stage.user, scopes: ['audit'] }
      await stage.subscribe(params, user)
      stage.internet.users.set(stage.user.subject, ['other'])
      const body = JSON.stringify({
        name: 'order.audited',
        payload: { id: '1' },
        recipients: { user: { issuer: 'https://idp.example', subject: stage.user.subject } },
        options: {},
      })
      await fetch(new URL('/publish', stage.server.url), { method: 'POST', body })
      await stage.terminated
      return [await stage.unsubscribe(params, user), stage.events.length]
    },
    expected: [unknownSubscription, 0],
  },
  {
    front: 'revoked principals',
    name: 'a scope of the token is needed to subscribe',
    attack: async (stage) => {
      const params = stage.params({ name: 'order.audited', arguments: {} })
      return [await stage.subscribe(params), stage.posts.length]
    },
    expected: [refused(-32600, 'Requires the scopes audit', { scopes: ['audit'] }, 403), 0],
  },
  {
    front: 'revoked principals',
    name: 'an event that is not visible is unknown, and reveals no scope',
    attack: (stage) => stage.subscribe(stage.params({ name: 'order.hidden', arguments: {} })),
    expected: unknownEvent('order.hidden'),
  },
  {
    front: 'revoked principals',
    name: 'nothing arrives after an unsubscribe, also of what waits',
    attack: async (stage) => {
      await stage.subscribe()
      stage.answer = () => new Response(null, { status: 503 })
      await stage.publish({ total: 1 })
      await stage.received(1)
      const outcome = await stage.unsubscribe()
      await stage.publish({ total: 2 })
      await stage.subscribe(stage.params({}, { url: `${stage.url}/next` }))
      await stage.publish({ total: 3 })
      await stage.received(2)
      return [outcome, stage.totals]
    },
    expected: ['unsubscribed', [1, 3]],
  },
  {
    front: 'revoked principals',
    name: '410 refuses one event: it does not arrive again, and the next one does',
    attack: async (stage) => {
      await stage.subscribe()
      stage.answer = () => new Response(null, { status: stage.events.length === 1 ? 410 : 204 })
      await stage.publish({ total: 1 })
      await stage.received(1)
      await stage.publish({ total: 2 })
      await stage.received(2)
      return [await stage.unsubscribe(), stage.totals, stage.challenges.length]
    },
    expected: ['unsubscribed', [1, 2], 1],
  },
]

/** Those of a lifetime of a minute, which is the shortest. */
const expiries: readonly Attack[] = [
  {
    front: 'revoked principals',
    name: 'a subscription that is not refreshed ends: what waits does not arrive, and it is unknown',
    attack: async (stage) => {
      const { result } = await stage.send('events/subscribe', stage.params({ ttlMs: 0 }))
      stage.answer = () => new Response(null, { status: 503 })
      await stage.publish({ total: 1 })
      await stage.received(1)
      await setTimeout(Date.parse(String(result?.refreshBefore)) - Date.now())
      const before = stage.events.length
      await stage.publish({ total: 2 })
      const outcome = await stage.unsubscribe()
      await stage.subscribe(stage.params({}, { url: `${stage.url}/next` }))
      stage.answer = () => new Response(null, { status: 204 })
      await stage.publish({ total: 3 })
      await stage.received(before + 1)
      return [outcome, stage.totals.slice(before)]
    },
    expected: [unknownSubscription, [3]],
  },
]

export const attacks: readonly Attack[] = [
  ...secrets,
  ...crowd,
  ...addresses,
  ...names,
  ...schemes,
  ...redirects,
  ...foreign,
  ...foreignMore,
  ...challenges,
  ...replays,
  ...amplification,
  ...badSecrets,
  ...prototypes,
  ...injections,
  ...endings,
]

/** Attacks that take as long as a `timeout` of one second. */
export const slowAttacks: readonly Attack[] = [...answering(lateReplies), ...expiries]
