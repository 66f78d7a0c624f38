/** Events by webhook: subscriptions, deliveries and their limits, over HTTP. */
import { afterAll, describe, expect, test } from 'vitest'
import { connect, type ReceivedChallenge, type ReceiverAnswers } from '../../worker/testing/index.ts'
import { storedRows } from '../support/objects.ts'
import { startServer } from '../support/server.ts'
import { Receiver, secretOf } from './receivers.ts'
import { openShop, tokenOf, wanting } from './shop.ts'

const shop = await openShop()
afterAll(() => shop[Symbol.asyncDispose]())
const { internet, server, clientOf, publish, paid, subscribed } = shop

const revisions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

describe.each(revisions)('in %s', (revision) => {
  test('events are listed, subscribed to, delivered and unsubscribed from', async () => {
    const shop = `shop of ${revision}`
    const receiver = new Receiver(internet, revision)
    await using client = await clientOf(`user ${revision}`, revision)
    expect(client.initializeResult.capabilities).toMatchObject({
      events: {},
      extensions: { 'io.modelcontextprotocol/events': {} },
    })
    const { events } = (await client.request('events/list')) as { events: object[] }
    expect(events).toEqual([
      {
        name: 'order.paid',
        description: 'An order was paid',
        delivery: ['webhook', 'poll', ...(revision === '2026-07-28' ? ['push'] : [])],
        inputSchema: expect.objectContaining({ type: 'object', required: ['shop'] }),
        payloadSchema: expect.objectContaining({ type: 'object', required: ['shop', 'total'] }),
      },
    ])
    const subscribed = await client.request('events/subscribe', wanting(receiver, shop))
    expect(subscribed).toMatchObject({
      id: expect.stringMatching(/^sub_[\w-]{43}$/),
      cursor: expect.stringMatching(/^\d+$/),
      truncated: false,
    })
    const [verification] = receiver.challenges
    expect(verification).toMatchObject({ subscription: subscribed.id, id: expect.stringMatching(/^msg_verification_/) })
    const id = await paid(shop, 5)
    const [event] = await receiver.received(1)
    expect(event).toMatchObject({
      id,
      subscription: subscribed.id,
      name: 'order.paid',
      data: { shop, total: 5 },
      timestamp: expect.any(String),
    })
    const again = await client.request('events/subscribe', wanting(receiver, shop))
    expect(again).toMatchObject({ id: subscribed.id, deliveryStatus: { active: true, lastError: null } })
    expect(receiver.challenges).toHaveLength(1)
    const { mode: _, ...delivery } = wanting(receiver, shop).delivery
    expect(await client.request('events/unsubscribe', { ...wanting(receiver, shop), delivery })).toMatchObject({})
    await expect(client.request('events/unsubscribe', wanting(receiver, shop))).rejects.toMatchObject({
      code: -32011,
      data: { kind: 'subscription' },
    })
  })
})

describe('deliveries', () => {
  test.each([
    ['503', () => new Response(null, { status: 503 })],
    ['401', () => new Response(null, { status: 401 })],
    ['a redirect, which is not followed', () => Response.redirect('https://hooks.example/elsewhere', 307)],
    ['no answer in time', () => new Promise<Response>(() => {})],
  ])('are repeated after %s, newly signed, with the same id and body', async (what, answer) => {
    const receiver = new Receiver(internet, `repeated ${what}`.replaceAll(/\W/g, '-'))
    await using _ = await subscribed('retry', receiver, what)
    receiver.answers = () => (receiver.events.length === 1 ? answer() : new Response('ok'))
    const id = await paid(what)
    const [first, second] = await receiver.received(2)
    expect(first?.id).toBe(id)
    expect(second).toEqual(first)
    expect(internet.strays).toEqual([])
  })

  test('to a receiver that never answers delay no other subscription', async () => {
    const stuck = new Receiver(internet, 'stuck')
    const quick = new Receiver(internet, 'quick')
    await using one = await subscribed('both', stuck, 'stuck')
    await one.client.request('events/subscribe', wanting(quick, 'quick'))
    stuck.answers = () => new Promise<Response>(() => {})
    for (let index = 0; index < 150; index += 1) await paid('stuck')
    await paid('quick')
    await quick.received(1)
    await one.client.request('events/unsubscribe', wanting(stuck, 'stuck'))
  })

  test('that an old attempt refuses with 410 continue after a refresh', async () => {
    const receiver = new Receiver(internet, 'refreshed')
    await using one = await subscribed('refreshed', receiver, 'refreshed')
    const answering = Promise.withResolvers<Response>()
    const asked = Promise.withResolvers<void>()
    receiver.answers = () => {
      asked.resolve()
      return receiver.events.length === 1 ? answering.promise : new Response(null, { status: 204 })
    }
    await paid('refreshed')
    await asked.promise
    expect(await one.client.request('events/subscribe', wanting(receiver, 'refreshed'))).toMatchObject({ id: one.id })
    answering.resolve(new Response(null, { status: 410 }))
    await receiver.received(2)
    expect(await one.client.request('events/unsubscribe', wanting(receiver, 'refreshed'))).toMatchObject({})
  })

  test('to a user whose identity provider does not answer are repeated once it does', async () => {
    const receiver = new Receiver(internet, 'hanging')
    await using _ = await subscribed('hanging', receiver, 'hanging')
    const asked = Promise.withResolvers<void>()
    internet.handlers.set('https://idp.example/hanging', () => {
      asked.resolve()
      return new Promise(() => {})
    })
    await paid('hanging')
    await asked.promise
    internet.handlers.delete('https://idp.example/hanging')
    await receiver.received(1)
  })

  test('with a key arrive in order, also after a failure; others do not wait', async () => {
    const receiver = new Receiver(internet, 'order')
    await using _ = await subscribed('order', receiver, 'order')
    receiver.answers = ({ data: { total } }) => {
      const isFirst = receiver.events.filter((event) => event.data.total === total).length === 1
      return new Response(null, { status: total === 1 && isFirst ? 500 : 204 })
    }
    for (const total of [1, 2, 3])
      await publish('order.paid', { shop: 'order', total }, { everyone: true }, { key: 'k' })
    await publish('order.paid', { shop: 'order', total: 9 }, { everyone: true })
    const events = await receiver.received(5)
    const totals = events.map(({ data }) => data.total)
    expect(totals.filter((total) => total !== 9)).toEqual([1, 1, 2, 3])
    expect(totals.indexOf(9)).toBeLessThan(4)
  })

  test.each([413, 410])('that are refused with %i are not sent again, and the next one is', async (status) => {
    const receiver = new Receiver(internet, `refused-${status}`)
    await using one = await subscribed('refused', receiver, `refused ${status}`)
    receiver.answers = () => new Response(null, { status: receiver.events.length === 1 ? status : 204 })
    for (const total of [1, 2])
      await publish('order.paid', { shop: `refused ${status}`, total }, { everyone: true }, { key: 'k' })
    await receiver.received(2)
    expect(totalsOf(receiver)).toEqual([1, 2])
    expect(await one.client.request('events/unsubscribe', wanting(receiver, `refused ${status}`))).toMatchObject({})
  })

  test('wait for the refresh after five answers 401 or 410 in a row', async () => {
    const receiver = new Receiver(internet, 'rejecting')
    const other = new Receiver(internet, 'rejecting-other')
    await using one = await subscribed('rejecting', receiver, 'rejecting')
    await one.client.request('events/subscribe', wanting(other, 'rejecting other'))
    // The second one is repeated, and the fourth one begins the row.
    const answers = [410, 401, 410, 204, 410, 410, 410, 410, 410]
    receiver.answers = () => new Response(null, { status: answers[receiver.events.length - 1] ?? 204 })
    for (let total = 1; total <= 10; total += 1)
      await publish('order.paid', { shop: 'rejecting', total }, { everyone: true }, { key: 'k' })
    await receiver.received(answers.length)
    // One that comes later has no other one before it.
    await paid('rejecting other')
    await other.received(1)
    expect(totalsOf(receiver)).toEqual([1, 2, 2, 3, 4, 5, 6, 7, 8])
    expect(await one.client.request('events/subscribe', wanting(receiver, 'rejecting'))).toMatchObject({
      deliveryStatus: { lastError: 'http_4xx' },
    })
    await receiver.received(answers.length + 2)
    expect(totalsOf(receiver).slice(answers.length)).toEqual([9, 10])
  })

  test('that fail are reported to the client by a category of the specification', async () => {
    const receiver = new Receiver(internet, 'categories')
    await using one = await subscribed('categories', receiver, 'categories')
    const lastError = async () => {
      const { deliveryStatus } = await one.client.request('events/subscribe', wanting(receiver, 'categories'))
      return (deliveryStatus as { lastError: unknown }).lastError
    }
    for (const [answer, category] of [
      [() => Response.redirect('https://hooks.example/elsewhere', 307), 'http_4xx'],
      [() => new Response(null, { status: 503 }), 'http_5xx'],
    ] as const) {
      receiver.answers = answer
      await paid('categories')
      await expect.poll(lastError).toBe(category)
    }
  })
})

const totalsOf = ({ events }: Receiver) => events.map(({ data }) => data.total)

describe('recipients', () => {
  const acme = { issuer: 'https://idp.example', tenant: 'acme' }
  const users = [
    { subject: 'anna', tenant: 'acme' },
    { subject: 'anna', tenant: 'umbrella' },
    { subject: 'anna' },
    { subject: 'bert', tenant: 'acme' },
    { subject: 'anna', tenant: 'acme', issuer: 'https://other.example' },
  ]
  test.each([
    ['everyone', { everyone: true }, [0, 1, 2, 3, 4]],
    ['a tenant', { tenant: acme }, [0, 3]],
    ['a user of a tenant', { user: { ...acme, subject: 'anna' } }, [0]],
    ['a user without a tenant', { user: { issuer: acme.issuer, subject: 'anna' } }, [2]],
  ])('are %s', async (what, recipients, expected) => {
    const receivers = users.map((_, index) => new Receiver(internet, `${what.replaceAll(' ', '-')}-${index}`))
    for (const [index, user] of users.entries()) {
      await using _ = await subscribed(user, receivers[index] as Receiver, what)
    }
    await publish('order.paid', { shop: what, total: 1 }, recipients)
    await Promise.all(expected.map((index) => receivers[index]?.received(1)))
    // What comes later has no one else before it.
    await publish('order.paid', { shop: what, total: 2 }, { everyone: true })
    const totals = await Promise.all(
      receivers.map(async (receiver, index) =>
        (await receiver.received(expected.includes(index) ? 2 : 1)).map(({ data }) => data.total),
      ),
    )
    expect(totals.map((all) => all.toSorted())).toEqual(
      users.map((_, index) => (expected.includes(index) ? [1, 2] : [2])),
    )
  })

  test.each([
    [{}, 'one kind of recipients'],
    [{ everyone: false }, '"everyone"'],
    [{ user: null }, 'user'],
    [{ user: { issuer: 'https://idp.example' } }, 'user.subject'],
    [{ tenant: 'acme' }, 'tenant'],
    [{ tenant: { issuer: 'https://idp.example' } }, 'tenant.tenant'],
    [{ everyone: true, user: { issuer: 'a', subject: 'b' } }, 'one kind of recipients'],
  ])('that are wrong are refused: %j', async (recipients, message) => {
    await expect(publish('order.paid', { shop: 'x', total: 1 }, recipients)).rejects.toThrow(message)
  })
})

describe('authorization', () => {
  test('anonymous callers read the log, and cannot subscribe', async () => {
    await using client = await connect(server.url, { revision: '2025-11-25' })
    const { events } = (await client.request('events/list')) as { events: object[] }
    expect(events).toMatchObject([{ name: 'order.paid', delivery: ['poll'] }])
    const receiver = new Receiver(internet, 'anonymous')
    await expect(client.request('events/subscribe', wanting(receiver, 'x'))).rejects.toMatchObject({ code: -32012 })
    expect(receiver.challenges).toEqual([])
  })

  test('an event with scopes or visibleTo is listed for those who may receive it', async () => {
    const names = async (user: object) => {
      await using client = await clientOf(user)
      const { events } = (await client.request('events/list')) as { events: { name: string }[] }
      return events.map(({ name }) => name)
    }
    expect(await names({ subject: 'auditor', scopes: ['audit'] })).toEqual(['order.paid', 'order.audited'])
    expect(await names({ subject: 'root', scopes: ['secrets'] })).toEqual(['order.paid', 'order.hidden'])
  })

  test('an event whose visibleTo returns something else than true, or throws, is left out', async () => {
    for (const user of ['someone', 'thrower']) {
      await using client = await clientOf(user)
      const { events } = (await client.request('events/list')) as { events: { name: string }[] }
      expect(events.map(({ name }) => name)).toEqual(['order.paid'])
    }
    await using client = await clientOf('someone')
    const { delivery } = wanting(new Receiver(internet, 'odd'), 'x')
    await expect(client.request('events/subscribe', { name: 'odd', arguments: {}, delivery })).rejects.toMatchObject({
      code: -32011,
    })
  })

  test('nothing is sent after unsubscribing while the identity provider is asked', async () => {
    const receiver = new Receiver(internet, 'asked')
    await using one = await subscribed('asked', receiver, 'asked')
    const asked = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    internet.handlers.set('https://idp.example/asked', async () => {
      asked.resolve()
      await goOn.promise
      return Response.json([])
    })
    await paid('asked')
    await asked.promise
    await one.client.request('events/unsubscribe', wanting(receiver, 'asked'))
    goOn.resolve()
    // Its object has gone on when it answers again.
    await one.client.request('events/subscribe', wanting(receiver, 'asked'))
    internet.handlers.delete('https://idp.example/asked')
    await publish('order.paid', { shop: 'asked', total: 2 }, { everyone: true })
    const [first] = await receiver.received(1)
    expect(first?.data).toMatchObject({ total: 2 })
    expect(receiver.terminations).toEqual([])
  })

  test('one that the caller does not see is unknown to it', async () => {
    await using client = await clientOf('nobody')
    const delivery = wanting(new Receiver(internet, 'unseen'), 'x').delivery
    for (const name of ['order.hidden', 'order.unknown']) {
      await expect(client.request('events/subscribe', { name, arguments: {}, delivery })).rejects.toMatchObject({
        code: -32011,
        data: { kind: 'event' },
      })
    }
  })

  test.each([
    ['is revoked', undefined],
    ['loses a scope', []],
  ])('a principal that %s receives nothing more, also of what waits', async (what, scopes) => {
    const subject = what.replaceAll(' ', '-')
    internet.users.set(subject, ['audit'])
    const receiver = new Receiver(internet, subject)
    await using client = await clientOf({ subject, scopes: ['audit'] })
    const { url, secret } = receiver
    const request = { name: 'order.audited', arguments: {}, delivery: { mode: 'webhook', url, secret } }
    await client.request('events/subscribe', request)
    const issuer = 'https://idp.example'
    receiver.answers = () => new Response(null, { status: 503 })
    await publish('order.audited', { id: '1' }, { user: { issuer, subject } })
    await receiver.received(1)
    internet.users.set(subject, scopes)
    await publish('order.audited', { id: '2' }, { user: { issuer, subject } })
    await expect.poll(() => receiver.terminations.length).toBe(1)
    expect(receiver.terminations).toEqual([
      {
        id: expect.stringMatching(/^msg_terminated_[\w-]{32}$/),
        subscription: expect.any(String),
        error: { code: -32012, message: 'The subscriber may not receive this event any more' },
      },
    ])
    await expect(client.request('events/unsubscribe', request)).rejects.toMatchObject({ code: -32011 })
    expect(receiver.events.map(({ data }) => data)).toEqual([{ id: '1' }])
  })

  test('a subscription to an event that is declared no more is terminated', async () => {
    const receiver = new Receiver(internet, 'removed')
    await using one = await subscribed('removed', receiver, 'removed')
    const worker = server.harness.getWorker()
    for (const id of await worker.listDurableObjectIds('McpEvents')) {
      const storage = await worker.getDurableObjectStorage('McpEvents', { id })
      const [isOwner] = await storage.exec("SELECT 1 FROM sqlite_master WHERE name = 'subscriptions'")
      if (isOwner) await storage.exec("UPDATE subscriptions SET name = 'order.removed' WHERE id = ?", one.id)
    }
    await paid('removed')
    await expect.poll(() => receiver.terminations.length).toBe(1)
    expect(receiver.terminations).toMatchObject([
      {
        subscription: one.id,
        error: { code: -32011, message: 'Unknown event: order.removed', data: { kind: 'event' } },
      },
    ])
    expect(receiver.events).toEqual([])
  })

  test('another user cannot end a subscription, or learn of it', async () => {
    const receiver = new Receiver(internet, 'foreign')
    await using _ = await subscribed('owner', receiver, 'foreign')
    for (const thief of [
      'thief',
      { subject: 'owner', tenant: 'x' },
      { subject: 'owner', issuer: 'https://evil.example' },
      { subject: 'owner', client: 'other' },
    ]) {
      await using client = await clientOf(thief)
      await expect(client.request('events/unsubscribe', wanting(receiver, 'foreign'))).rejects.toMatchObject({
        code: -32011,
      })
    }
    await paid('foreign')
    await receiver.received(1)
  })
})

describe('subscriptions', () => {
  test('a URL that does not answer the challenge is refused, and receives no event', async () => {
    const answers: readonly (readonly [string, ReceiverAnswers<ReceivedChallenge>, string])[] = [
      ['other', () => Response.json({ challenge: 'x' }), 'challenge_failed'],
      ['text', ({ challenge }) => new Response(challenge), 'challenge_failed'],
      ['big', ({ challenge }) => Response.json({ padding: 'x'.repeat(10_000), challenge }), 'challenge_failed'],
      ['redirect', () => Response.redirect('https://hooks.example/elsewhere', 302), 'challenge_failed'],
      ['404', () => new Response(null, { status: 404 }), 'http_4xx'],
      ['500', () => new Response(null, { status: 500 }), 'http_5xx'],
      ['late', () => new Promise<Response>(() => {}), 'timeout'],
    ]
    await using client = await clientOf('liar')
    for (const [path, verify, reason] of answers) {
      const receiver = new Receiver(internet, `liar-${path}`)
      receiver.challengeAnswers = verify
      const shop = `liar ${path}`
      await expect(client.request('events/subscribe', wanting(receiver, shop))).rejects.toMatchObject({
        code: -32015,
        data: { reason },
      })
      await paid(shop)
      await expect(client.request('events/unsubscribe', wanting(receiver, shop))).rejects.toMatchObject({
        code: -32011,
      })
      expect(receiver.events).toEqual([])
    }
  })

  test('of a user may fail 20 verifications in an hour, also at the same time, and also after its last subscription has ended', async () => {
    const kept = new Receiver(internet, 'failing-kept')
    await using one = await subscribed('failing', kept, 'failing')
    let posts = 0
    const failing = (index: number) => {
      const receiver = new Receiver(internet, `failing-${index}`)
      receiver.challengeAnswers = () => {
        posts += 1
        return new Response(null, { status: 404 })
      }
      return one.client
        .request('events/subscribe', wanting(receiver, 'failing'))
        .catch(({ code, data }) => [code, data])
    }
    const outcomes = await Promise.all(Array.from({ length: 40 }, (_, index) => failing(index % 25)))
    expect(outcomes).toContainEqual([-32013, { limit: 'failedVerifications', max: 20 }])
    await one.client.request('events/unsubscribe', wanting(kept, 'failing'))
    expect(await failing(30)).toEqual([-32013, { limit: 'failedVerifications', max: 20 }])
    expect(posts).toBe(20)
  })

  test('of a user are verified 30 times in a minute at one host, with any port and spelling; others have their own share', async () => {
    const hosts = ['shared.example', 'SHARED.example:8443', 'shared.example.']
    for (const host of hosts)
      internet.hosts.set(host.toLowerCase(), async (request) => {
        const { challenge } = (await request.json()) as { challenge: string }
        return Response.json({ challenge })
      })
    const delivery = (made: number) =>
      wanting({ url: `https://${hosts[made % 3]}/`, secret: secretOf('shared') }, 'shared')
    await using client = await clientOf('often')
    for (let made = 0; made < 30; made++) {
      await client.request('events/subscribe', delivery(made))
      await client.request('events/unsubscribe', delivery(made))
    }
    // Those that are refused are no failed verifications, of which a user has 20.
    for (let made = 0; made < 21; made++)
      await expect(client.request('events/subscribe', delivery(made))).rejects.toMatchObject({
        code: -32013,
        data: { limit: 'verificationsOfHost', max: 30 },
      })
    await using other = await clientOf('seldom')
    for (const made of hosts.keys())
      expect(await other.request('events/subscribe', delivery(made))).toMatchObject({ id: expect.any(String) })
  })

  test('without reauthorize last as long as the token, and an hour at most', async () => {
    await using plain = await startServer('test/events/server', { PLAIN: '1' }, (request) => internet.answer(request))
    const minutes = async (claims: object) => {
      const headers = { Authorization: `Bearer ${tokenOf({ subject: 'plain', claims })}` }
      await using client = await connect(plain.url, { revision: '2025-11-25', headers })
      const receiver = new Receiver(internet, 'plain')
      const { refreshBefore } = (await client.request('events/subscribe', wanting(receiver, 'plain'))) as {
        refreshBefore: string
      }
      return Math.round((Date.parse(refreshBefore) - Date.now()) / 60_000)
    }
    expect(await minutes({})).toBe(60)
    expect(await minutes({ exp: Math.floor(Date.now() / 1000) + 600 })).toBe(10)
  })

  test('are verified when a user makes many at the same time', async () => {
    const receiver = new Receiver(internet, 'startup')
    await using client = await clientOf('startup')
    const requests = Array.from({ length: 30 }, () => client.request('events/subscribe', wanting(receiver, 'startup')))
    const outcomes = await Promise.allSettled(requests)
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
    expect(JSON.stringify(outcomes)).not.toContain('failedVerifications')
  })

  test('unsubscribing ends a verification that runs', async () => {
    const receiver = new Receiver(internet, 'during')
    await using client = await clientOf('during')
    receiver.challengeAnswers = async ({ challenge }) => {
      await client.request('events/unsubscribe', wanting(receiver, 'during')).catch(() => {})
      return Response.json({ challenge })
    }
    await expect(client.request('events/subscribe', wanting(receiver, 'during'))).rejects.toMatchObject({
      code: -32015,
    })
  })

  test('a new secret signs beside the old one for a time', async () => {
    const path = 'rotated'
    const old = new Receiver(internet, path)
    await using one = await subscribed('rotated', old, path)
    const renewed = new Receiver(internet, path, secretOf('renewed'))
    expect(await one.client.request('events/subscribe', wanting(renewed, path))).toMatchObject({ id: one.id })
    await paid(path)
    await renewed.received(1)
    internet.handlers.set(old.url, (request) => old.fetch(request))
    await paid(path)
    await old.received(1)
  })

  test('are at most maxSubscriptions for a user, also at the same time', async () => {
    const receiver = new Receiver(internet, 'many')
    await using client = await clientOf('many')
    const subscribe = (index: number) => client.request('events/subscribe', wanting(receiver, `many ${index}`))
    await subscribe(0)
    const outcomes = await Promise.allSettled(Array.from({ length: 9 }, (_, index) => subscribe(index + 1)))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(4)
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: -32013, data: { limit: 'subscriptions', max: 5 } },
    })
    await using other = await subscribed('few', new Receiver(internet, 'few'), 'few')
    expect(other.id).toMatch(/^sub_/)
  })

  test('have a lifetime within the limits', async () => {
    const receiver = new Receiver(internet, 'lifetime')
    await using client = await clientOf('lifetime')
    const hours = async (extra: object) => {
      const result = await client.request('events/subscribe', { ...wanting(receiver, 'lifetime'), ...extra })
      const { refreshBefore } = result as { refreshBefore: string }
      return Math.round((Date.parse(refreshBefore) - Date.now()) / 36_000) / 100
    }
    expect(await hours({})).toBe(24)
    expect(await hours({ ttlMs: 7_200_000, maxAgeMs: 0 })).toBe(2)
    expect(await hours({ ttlMs: 1 })).toBe(0.02)
    expect(await hours({ ttlMs: null })).toBe(168)
    expect(await hours({ ttlMs: 1e15 })).toBe(168)
  })

  test('store no secret, and no claims, in plain text', async () => {
    const receiver = new Receiver(internet, 'stored')
    await using one = await subscribed(
      { subject: 'stored', claims: { email: 'stored@example.com' } },
      receiver,
      'stored',
    )
    const text = await storedRows(server, 'McpEvents')
    expect(text).toContain(one.id)
    expect(text).not.toContain('whsec_')
    expect(text).not.toContain(receiver.secret.slice('whsec_'.length))
    expect(text).not.toContain('stored@example.com')
  })

  const good = {
    name: 'order.paid',
    arguments: { shop: 'x' },
    delivery: { mode: 'webhook', url: 'https://hooks.example/params', secret: secretOf('params') },
  }
  const withDelivery = (delivery: object) => ({ ...good, delivery: { ...good.delivery, ...delivery } })
  test.each([
    ['no name', { ...good, name: undefined }, -32602, 'params.name'],
    ['arguments of another type', { ...good, arguments: [] }, -32602, 'params.arguments'],
    ['wrong arguments', { ...good, arguments: { shop: 1 } }, -32602, 'shop'],
    [
      'arguments of more than 4,096 characters',
      { ...good, arguments: { shop: 'x'.repeat(4096) } },
      -32602,
      'params.arguments',
    ],
    ['no delivery', { ...good, delivery: undefined }, -32014, 'delivery.mode'],
    ['another mode', withDelivery({ mode: 'poll' }), -32014, 'webhook'],
    ['a short secret', withDelivery({ secret: `whsec_${btoa('short')}` }), -32602, 'secret'],
    ['a secret of 65 bytes', withDelivery({ secret: `whsec_${btoa('x'.repeat(65))}` }), -32602, 'secret'],
    ['another secret', withDelivery({ secret: 'x'.repeat(40) }), -32602, 'secret'],
    ['a lifetime of another type', { ...good, ttlMs: '1h' }, -32602, 'ttlMs'],
  ])('are refused with %s', async (_, params, code, message) => {
    await using client = await clientOf('params')
    await expect(client.request('events/subscribe', params)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    })
    expect(internet.strays).toEqual([])
  })

  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '127.0.0.1.',
    '0.0.0.0',
    '0',
    '10.0.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '0xa9fea9fe',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '192.0.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '１２７.0.0.1',
    '127。0。0。1',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:a9fe:a9fe]',
    '[64:ff9b::7f00:1]',
    '[fe80::1]',
    '[fc00::1]',
    '[fd12::1]',
    '[ff02::1]',
    '[2002:7f00:1::]',
    '[2001:0:1::]',
    '[2001:db8::1]',
    '[3fff::1]',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'printer',
    'printer.local',
    '127.0.0.1..',
    'localhost..',
    '.example.com',
    'a..example.com',
    'localhost.localdomain',
    'kubernetes.default.svc',
    'nas.lan',
    'metadata.google.internal',
    'router.home.arpa',
  ]
  const urls = [
    ...hosts.map((host) => `https://${host}/hook`),
    'http://hooks.example/hook',
    'ftp://hooks.example/',
    'https://user@hooks.example/',
    'https://user:pw@hooks.example/',
    'https://hooks.example/#a',
    'https://hooks.example/#',
    'hooks.example',
    '/hook',
    'https://',
    'javascript:alert(1)',
    `https://hooks.example/${'x'.repeat(2048)}`,
  ]
  test('are refused with a callback URL that is not public, in every spelling', async () => {
    await using client = await clientOf('ssrf')
    for (const url of urls) {
      await expect(client.request('events/subscribe', withDelivery({ url })), url).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining('delivery.url'),
      })
    }
    expect(internet.strays).toEqual([])
  })
})

test.each([
  ['does not match its schema', { shop: 'x' }, 'total'],
  ['is too large', { shop: 'x'.repeat(262_144), total: 1 }, 'too large'],
])('a payload that %s is not published', async (_, payload, message) => {
  await expect(publish('order.paid', payload, { everyone: true })).rejects.toThrow(message)
})

test('an event that is published twice with one id is delivered once', async () => {
  const receiver = new Receiver(internet, 'once')
  await using _ = await subscribed('once', receiver, 'once')
  for (const id of ['order-1', 'order-1', 'order-2'])
    expect(await publish('order.paid', { shop: 'once', total: 1 }, { everyone: true }, { id, key: 'k' })).toBe(id)
  const events = await receiver.received(2)
  expect(events.map(({ id }) => id)).toEqual(['order-1', 'order-2'])
})

test('events of two names with one id are both delivered', async () => {
  internet.users.set('names', ['audit'])
  const receiver = new Receiver(internet, 'names')
  await using one = await subscribed({ subject: 'names', scopes: ['audit'] }, receiver, 'names')
  await one.client.request('events/subscribe', { ...wanting(receiver, ''), name: 'order.audited', arguments: {} })
  await publish('order.audited', { id: '7' }, { everyone: true }, { id: 'order-7' })
  await publish('order.paid', { shop: 'names', total: 1 }, { everyone: true }, { id: 'order-7' })
  const events = await receiver.received(2)
  expect(events.map(({ name }) => name).sort()).toEqual(['order.audited', 'order.paid'])
})

test.each(['', 'a.b', 'a b', 'a\n', 'ä', 'x'.repeat(129), 5])('the id %j is refused', async (id) => {
  const publishing = publish('order.paid', { shop: 'x', total: 1 }, { everyone: true }, { id })
  await expect(publishing).rejects.toThrow('"id" of publish() of event "order.paid" must be 1 to 128 printable')
})
