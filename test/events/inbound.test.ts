/** Webhooks of other services, which become events: their signatures, limits and repetitions. */
import { createHmac, randomUUID } from 'node:crypto'
import { connect as connectSocket } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { logText, startServer, type TestServer } from '../support/server.ts'
import { Internet, Receiver, secretOf } from './receivers.ts'

const secrets = {
  STRIPE: 'whsec_secret of stripe',
  GITHUB: "It's a Secret to Everybody",
  STANDARD: secretOf('standard'),
}
const internet = new Internet()
let server: TestServer
beforeAll(async () => {
  server = await startServer('test/events/inbound', secrets, (request) => internet.answer(request))
})
afterAll(() => server[Symbol.asyncDispose]())

type Sent = {
  readonly type?: string
  readonly id?: string
  readonly body: object
  readonly secret?: string
  readonly seconds?: number
}
type Provider = keyof typeof providers

const now = () => Math.floor(Date.now() / 1000)
const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex')
const providers = {
  stripe({ type, id, body, secret = secrets.STRIPE, seconds = now() }: Sent) {
    const text = JSON.stringify({ id, type, ...body })
    return {
      text,
      headers: { 'Stripe-Signature': `t=${seconds},v1=${hmac(secret, `${seconds}.${text}`)},v0=${'0'.repeat(64)}` },
    }
  },
  github({ type = '', id = '', body, secret = secrets.GITHUB }: Sent) {
    const text = JSON.stringify(body)
    const signature = `sha256=${hmac(secret, text)}`
    return { text, headers: { 'X-GitHub-Event': type, 'X-GitHub-Delivery': id, 'X-Hub-Signature-256': signature } }
  },
  'standard-webhooks'({ type, id = '', body, secret = secrets.STANDARD, seconds = now() }: Sent) {
    const text = JSON.stringify({ type, ...body })
    const signature = new Webhook(secret).sign(id, new Date(seconds * 1000), text)
    return { text, headers: { 'webhook-id': id, 'webhook-timestamp': `${seconds}`, 'webhook-signature': signature } }
  },
}
const names = Object.keys(providers) as Provider[]

const post = (path: string, body: BodyInit, headers: Record<string, string>) =>
  fetch(new URL(`/webhooks/${path}`, server.url), {
    method: 'POST',
    body,
    headers: { 'Content-Type': 'application/json', ...headers },
  })

/** Sends a webhook, as the provider does. */
const send = (provider: Provider, sent: Sent) => {
  const { text, headers } = providers[provider](sent)
  return post(provider, text, headers)
}

/** Subscribes a user of its own. */
async function subscribed(provider: Provider, what: string) {
  const user = `${provider} ${what}`
  const receiver = new Receiver(internet, encodeURIComponent(user.replaceAll(' ', '-')))
  const headers = { Authorization: `Bearer ${user}` }
  const client = await connect(server.url, { revision: '2026-07-28', headers })
  const delivery = { mode: 'webhook', url: receiver.url, secret: receiver.secret }
  await client.request('events/subscribe', { name: 'happened', arguments: {}, delivery })
  return { user, receiver, [Symbol.asyncDispose]: () => client.close() }
}

const dataOf = (receiver: Receiver) => receiver.events.map(({ data }) => data.what)

describe.each(names)('of %s', (provider) => {
  const happened = (user: string, rest: object = {}): Sent => ({
    type: 'happened',
    id: `evt_${randomUUID()}`,
    body: { user, what: 'a', ...rest },
  })

  test('become an event for its user', async () => {
    await using one = await subscribed(provider, 'becomes')
    const answer = await send(provider, happened(one.user))
    expect([answer.status, await answer.text()]).toEqual([200, ''])
    const [received] = await one.receiver.received(1)
    expect(received).toMatchObject({ id: expect.stringMatching(/^evt_[\w-]{43}$/), data: { what: 'a 0' } })
  })

  test('that repeat reach a user once, and those with another id again', async () => {
    await using one = await subscribed(provider, 'repeats')
    const sent = happened(one.user)
    const statuses = await Promise.all([1, 2, 3].map(async () => (await send(provider, sent)).status))
    expect(statuses).toEqual([200, 200, 200])
    await one.receiver.received(1)
    expect((await send(provider, sent)).status).toBe(200)
    await send(provider, happened(one.user, { what: 'last' }))
    await one.receiver.received(2)
    expect(dataOf(one.receiver)).toEqual(['a 0', 'last 0'])
  })

  test('can publish several events with keys, and fail without', async () => {
    await using one = await subscribed(provider, 'several')
    expect((await send(provider, happened(one.user, { times: 2, keys: false }))).status).toBe(500)
    expect((await send(provider, happened(one.user, { what: 'b', times: 3 }))).status).toBe(200)
    await one.receiver.received(4)
    expect(dataOf(one.receiver).toSorted()).toEqual(['a 0', 'b 0', 'b 1', 'b 2'])
  })

  test('of an unknown type are accepted, and do nothing', async () => {
    expect((await send(provider, { type: 'other', id: 'o', body: {} })).status).toBe(200)
  })

  test.each([
    ['on throws', { type: 'failed', id: 'f', body: {} }],
    ['a payload is invalid', { type: 'happened', id: 'g', body: { user: 'x', what: 'x'.repeat(20) } }],
  ])('fail when %s, so that the provider repeats them', async (_, sent) => {
    const answer = await send(provider, sent)
    expect(answer.status).toBe(500)
    expect(await answer.text()).not.toContain('database')
  })

  test('are refused with another secret, another body and no signature', async () => {
    await using one = await subscribed(provider, 'refused')
    const { text, headers } = providers[provider](happened(one.user))
    const secret = provider === 'standard-webhooks' ? secretOf('other') : 'other'
    expect((await send(provider, { ...happened(one.user), secret })).status).toBe(403)
    expect((await post(provider, text.replace('"a"', '"b"'), headers)).status).toBe(403)
    expect((await post(provider, `${text} `, headers)).status).toBe(403)
    expect((await post(provider, `\uFEFF${text}`, headers)).status).toBe(403)
    expect((await post(provider, text, {})).status).toBe(400)
    await send(provider, happened(one.user, { what: 'last' }))
    await one.receiver.received(1)
    expect(dataOf(one.receiver)).toEqual(['last 0'])
  })

  test('are refused without an id, and with a body that is no JSON object', async () => {
    const { headers } = providers[provider]({ type: 'other', id: 'x', body: {} })
    expect((await send(provider, { type: 'other', body: {} })).status).toBe(400)
    expect((await post(provider, Uint8Array.of(0xff), headers)).status).toBe(400)
    const form = { ...headers, 'Content-Type': 'application/x-www-form-urlencoded' }
    const { text } = providers[provider]({ type: 'other', id: 'x', body: {} })
    expect((await post(provider, text, form)).status).toBe(415)
  })

  test('are refused when their body is too large', async () => {
    expect((await send(provider, happened('x', { padding: 'x'.repeat(100_000) }))).status).toBe(413)
  })

  test('have no page of another origin, and no other method', async () => {
    const { text, headers } = providers[provider]({ type: 'other', id: 'x', body: {} })
    const answer = await post(provider, text, { ...headers, Origin: 'https://evil.example' })
    expect(answer.status).toBe(403)
    expect((await fetch(new URL(`/webhooks/${provider}`, server.url))).status).toBe(405)
  })

  test('are accepted with each of several secrets, while the secret changes', async () => {
    const sent = { type: 'other', id: 'changing', body: {} }
    const { text, headers } = providers[provider](sent)
    expect((await post(`${provider}/changing`, text, headers)).status).toBe(200)
    const [next, other] = ['next', 'other'].map((name) => providers[provider]({ ...sent, secret: secretOf(name) }))
    expect((await post(`${provider}/changing`, text, next?.headers ?? {})).status).toBe(200)
    expect((await post(`${provider}/changing`, text, other?.headers ?? {})).status).toBe(403)
  })

  test.each([
    'unset',
    'empty',
    'blank',
    'none',
    'partly-empty',
    ...(provider === 'standard-webhooks' ? ['short'] : []),
  ])('are refused when the secret is %s', async (path) => {
    const secret = provider === 'standard-webhooks' ? secrets.STANDARD : path === 'blank' ? ' ' : ''
    const { text, headers } = providers[provider]({ type: 'other', id: 'x', body: {}, secret })
    server.harness.clearLogs()
    expect((await post(`${provider}/${path}`, text, headers)).status).toBe(500)
    await expect.poll(() => logText(server)).toContain(`"secret" of fromWebhook('${provider}') returned`)
  })
})

/** Sends the start of a request whose body does not arrive. @returns the first line of the response */
function begin(framing: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket(Number(server.url.port), server.url.hostname)
    socket.once('error', reject)
    socket.once('data', (data) => {
      resolve(String(data).split('\r\n')[0] ?? '')
      socket.destroy()
    })
    socket.write(`POST /webhooks/stripe HTTP/1.1\r\nHost: ${server.url.host}\r\n${framing}\r\n\r\n`)
  })
}

test('a body that does not arrive is refused, with and without its length', async () => {
  const lines = await Promise.all(['Content-Length: 100', 'Transfer-Encoding: chunked'].map(begin))
  expect(lines).toEqual(['HTTP/1.1 408 Request Timeout', 'HTTP/1.1 408 Request Timeout'])
})

test('each tenant that has a host has a secret', async () => {
  const status = async (host: string, tenant: string) => {
    const { text, headers } = providers.github({ type: 'x', id: 'x', body: { tenant }, secret: `secret of ${tenant}` })
    const url = `https://${host}.shop.example/webhooks/github`
    return (await server.harness.fetch(url, { method: 'POST', body: text, headers })).status
  }
  expect(await status('acme', 'acme')).toBe(200)
  expect(await status('globex', 'globex')).toBe(200)
  expect(await status('acme', 'globex')).toBe(403)
})

describe('another Worker', () => {
  const publish = async (body: object) => {
    const response = await fetch(new URL('/publish', server.url), { method: 'POST', body: JSON.stringify(body) })
    return [response.status, await response.text()]
  }

  test('publishes through a service binding', async () => {
    await using one = await subscribed('github', 'bound')
    const recipients = { user: { issuer: 'https://idp.example', subject: one.user } }
    const options = { id: 'bound-1', key: 'k' }
    expect(await publish({ payload: { what: 'bound' }, recipients, options })).toEqual([200, '"bound-1"'])
    const [received] = await one.receiver.received(1)
    expect(received).toMatchObject({ id: 'bound-1', data: { what: 'bound' } })
  })

  test.each([
    [{ payload: { what: 'x' }, recipients: {} }, 'publish() needs one kind of recipients'],
    [
      { payload: { what: 'x' }, recipients: { everyone: 'yes' } },
      '"everyone" of the recipients of publish() must be true',
    ],
    [{ payload: { what: 5 }, recipients: { everyone: true } }, 'The payload of event "happened" is invalid'],
    [{ payload: { what: 'x' }, recipients: { everyone: true }, options: { id: 'a.b' } }, '"id" of publish()'],
  ])('gets an error for %j', async (body, message) => {
    expect(await publish(body)).toEqual([400, expect.stringContaining(message)])
  })
})

describe('signatures', () => {
  const other = { type: 'other', id: 'x', body: {} }
  test.each(['stripe', 'standard-webhooks'] as const)('of %s have a time that is near', async (provider) => {
    const status = async (seconds: number) => (await send(provider, { ...other, seconds: now() + seconds })).status
    expect(await Promise.all([-290, 0, 290].map(status))).toEqual([200, 200, 200])
    expect(await Promise.all([-310, 310, -1e6].map(status))).toEqual([403, 403, 403])
  })

  test('of several secrets match if one does', async () => {
    const { text, headers } = providers.stripe(other)
    const [time = '', own = ''] = headers['Stripe-Signature'].split(',')
    const signed = (...members: string[]) => post('stripe', text, { 'Stripe-Signature': members.join(',') })
    expect((await signed(time, `v1=${'0'.repeat(64)}`, own)).status).toBe(200)
    expect((await signed(own, time)).status).toBe(200)
    expect((await signed(time, own.replace('v1', 'v0'))).status).toBe(403)
    expect((await signed(own)).status).toBe(400)
    expect((await signed(`t=${now() - 1000}`, time, own)).status).toBe(403)

    const standard = providers['standard-webhooks'](other)
    const several = `v1,AAAA v2,BBBB ${standard.headers['webhook-signature']}`
    expect(
      (await post('standard-webhooks', standard.text, { ...standard.headers, 'webhook-signature': several })).status,
    ).toBe(200)
    const asymmetric = standard.headers['webhook-signature'].replace('v1,', 'v1a,')
    expect(
      (await post('standard-webhooks', standard.text, { ...standard.headers, 'webhook-signature': asymmetric })).status,
    ).toBe(403)
  })

  test('of GitHub are as its documentation shows', async () => {
    const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'
    const answer = await post('github', 'Hello, World!', { 'X-Hub-Signature-256': signature })
    expect(await answer.json()).toMatchObject({ error: { message: 'The body is not valid JSON' } })
    expect((await post('github', 'Hello, World?', { 'X-Hub-Signature-256': signature })).status).toBe(403)
  })
})
