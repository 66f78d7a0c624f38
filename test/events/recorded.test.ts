/** What `observe()` and `audit()` record of events: also what no request causes. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { Internet, Receiver } from './receivers.ts'

type Recorded = Readonly<Record<'observed' | 'audited', readonly { readonly [member: string]: unknown }[]>>

const internet = new Internet()
let server: TestServer
beforeAll(async () => {
  server = await startServer('test/events/server', { TIMEOUT: '1s' }, (request) => internet.answer(request))
})
afterAll(() => server[Symbol.asyncDispose]())

const read = async () => (await (await fetch(new URL('/recorded', server.url))).json()) as Recorded
beforeEach(read)

/** Returns what was recorded, once so many events of these methods and of the audit log are there. */
async function recorded(counts: Readonly<Record<string, number>>, inAudit = 0): Promise<Recorded> {
  const observed: Recorded['observed'][number][] = []
  const audited: Recorded['audited'][number][] = []
  const collect = async () => {
    const next = await read()
    observed.push(...next.observed)
    audited.push(...next.audited)
    return (
      audited.length >= inAudit &&
      Object.entries(counts).every(([method, count]) => only(observed, method).length >= count)
    )
  }
  await expect.poll(collect, { interval: 5 }).toBe(true)
  return { observed, audited }
}

const issuer = 'https://idp.example'
const only = (records: Recorded['observed'], method: string) => records.filter((record) => record.method === method)

async function publish(name: string, payload: object, recipients: object): Promise<string> {
  const body = JSON.stringify({ name, payload, recipients, options: {} })
  return (await fetch(new URL('/publish', server.url), { method: 'POST', body })).json() as Promise<string>
}

/** Subscribes a user, whose receiver has a secret path and query. */
async function subscribed(subject: string, name: string, scopes: readonly string[] = []) {
  internet.users.set(subject, scopes)
  const receiver = new Receiver(internet, `${subject}-path?key=${subject}-query`)
  const headers = { Authorization: `Bearer ${JSON.stringify({ subject, scopes, tenant: 'acme' })}` }
  const client = await connect(server.url, { revision: '2025-11-25', headers })
  const { url, secret } = receiver
  const args = name === 'order.paid' ? { shop: subject } : {}
  const request = { name, arguments: args, delivery: { mode: 'webhook', url, secret } }
  const { id } = (await client.request('events/subscribe', request)) as { id: string }
  return {
    id,
    receiver,
    recipients: { user: { issuer, subject, tenant: 'acme' } },
    unsubscribe: () => client.request('events/unsubscribe', request),
    [Symbol.asyncDispose]: () => client.close(),
  }
}

test('subscriptions, publications, attempts and ends are observed, without URLs, payloads and secrets', async () => {
  await using one = await subscribed('ada', 'order.paid')
  one.receiver.answers = [503, 204]
  const event = await publish('order.paid', { shop: 'ada', total: 4711 }, one.recipients)
  const first = await recorded({ 'events/subscribe': 1, 'events/publish': 1, 'events/deliver': 2 })
  await one.unsubscribe()
  const last = await recorded({ 'events/unsubscribe': 1, 'events/end': 1 })
  const observed = [...first.observed, ...last.observed]
  const principal = { issuer, subject: 'ada', tenant: 'acme' }
  const attempt = {
    at: expect.stringMatching(/^20\d\d-/),
    milliseconds: expect.any(Number),
    method: 'events/deliver',
    name: 'order.paid',
    principal,
  }
  const details = { event, subscription: one.id }
  expect(only(observed, 'events/subscribe')).toMatchObject([
    { name: 'order.paid', outcome: { type: 'answered' }, principal },
  ])
  expect(only(observed, 'events/publish')).toEqual([
    {
      at: expect.stringMatching(/^20\d\d-/),
      milliseconds: expect.any(Number),
      method: 'events/publish',
      name: 'order.paid',
      outcome: { type: 'answered' },
      details: { event, recipients: one.recipients.user, subscriptions: 1 },
    },
  ])
  expect(only(observed, 'events/deliver')).toEqual([
    {
      ...attempt,
      outcome: {
        type: 'error',
        kind: 'http_5xx',
        code: 503,
        message: 'The receiver answered with status 503',
      },
      details: { ...details, attempt: 1 },
    },
    { ...attempt, outcome: { type: 'answered' }, details: { ...details, attempt: 2 } },
  ])
  expect(only(observed, 'events/unsubscribe')).toMatchObject([{ name: 'order.paid', principal }])
  expect(only(observed, 'events/end')).toMatchObject([
    { name: 'order.paid', principal, details: { subscription: one.id, reason: 'unsubscribed' } },
  ])
  expect(JSON.stringify(observed)).not.toMatch(/hooks\.example|-path|-query|4711|whsec_/)
  // No scope was needed.
  expect([...first.audited, ...last.audited]).toEqual([])
})

test('a publication to nobody is observed', async () => {
  const event = await publish('order.hidden', { id: '1' }, { everyone: true })
  const { observed } = await recorded({ 'events/publish': 1 })
  expect(observed).toMatchObject([
    { name: 'order.hidden', details: { event, recipients: { everyone: true }, subscriptions: 0 } },
  ])
})

test('an attempt without a response is observed with its reason', async () => {
  await using one = await subscribed('mute', 'order.paid')
  one.receiver.answers = ['never', 413]
  await publish('order.paid', { shop: 'mute', total: 1 }, one.recipients)
  const { observed } = await recorded({ 'events/deliver': 2 })
  expect(only(observed, 'events/deliver')).toMatchObject([
    { outcome: { type: 'error', kind: 'timeout', code: 0 }, details: { attempt: 1 } },
    { outcome: { type: 'error', kind: 'http_4xx', code: 413 }, details: { attempt: 2 } },
  ])
})

test('a subscription that is suspended is observed once', async () => {
  await using one = await subscribed('unknown', 'order.paid')
  one.receiver.answers = () => 401
  for (let index = 0; index < 6; index += 1) await publish('order.paid', { shop: 'unknown', total: 1 }, one.recipients)
  const { observed } = await recorded({ 'events/suspend': 1 })
  expect(only(observed, 'events/suspend')).toMatchObject([
    { name: 'order.paid', principal: { subject: 'unknown' }, details: { subscription: one.id, reason: 'http_401' } },
  ])
  await one.unsubscribe()
  expect(only((await recorded({ 'events/end': 1 })).observed, 'events/suspend')).toEqual([])
})

test('the audit log has subscriptions and deliveries of an event with scopes, and the end of one that is refused', async () => {
  await using one = await subscribed('auditor', 'order.audited', ['audit'])
  const event = await publish('order.audited', { id: '1' }, one.recipients)
  const first = await recorded({ 'events/deliver': 1 }, 2)
  const principal = { issuer, subject: 'auditor', tenant: 'acme' }
  const delivery = { principal, targets: [{ method: 'events/deliver', name: 'order.audited' }], scopes: ['audit'] }
  expect(first.audited).toMatchObject([
    { outcome: 'allowed', status: 200, targets: [{ method: 'events/subscribe', name: 'order.audited' }] },
    { ...delivery, outcome: 'allowed', details: { event, subscription: one.id, attempt: 1 } },
  ])
  internet.users.set('auditor', undefined)
  const next = await publish('order.audited', { id: '2' }, one.recipients)
  const { observed, audited } = await recorded({ 'events/end': 1 }, 1)
  const message = "reauthorize of the server's auth refused the caller who began it"
  expect(audited).toMatchObject([
    {
      ...delivery,
      outcome: 'refused',
      reason: { kind: 'forbidden', message },
      details: { event: next, subscription: one.id },
    },
  ])
  expect(only(observed, 'events/deliver')).toMatchObject([{ outcome: { type: 'error', kind: 'forbidden', message } }])
  expect(only(observed, 'events/end')).toMatchObject([{ details: { subscription: one.id, reason: message } }])
  expect(JSON.stringify([first, audited])).not.toMatch(/hooks\.example|-path|-query|whsec_/)
})
