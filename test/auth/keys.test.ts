/** The keys of an issuer that is slow, away, changing, unsteady or hostile. */
import type { RequestListener, ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { AuthorizationServer, json, type Key, newKey } from './authorization-server.ts'
import { type Answered, bearing, call } from './call.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

const metadataPath = '/.well-known/oauth-authorization-server'
const keysPath = '/jwks'

let server: TestServer
let issuer: AuthorizationServer

const ring = `k1:${Buffer.alloc(32, 1).toString('base64url')}`

beforeAll(async () => {
  server = await startServer('test/auth/keys', { EDGEMCP_KEYS: ring })
})
afterAll(() => server[Symbol.asyncDispose]())

beforeEach(async () => {
  issuer = await AuthorizationServer.start()
  await fetch(new URL('/clock', server.url))
})
afterEach(() => issuer[Symbol.asyncDispose]())

/** @param isolate servers of different names share nothing but the data centre's cache */
const endpoint = (isolate = 'first') => new URL(`/${new URL(issuer.issuer).port}/${isolate}/mcp`, server.url)

async function ask({ isolate = 'first', key = issuer.keys[0] as Key } = {}): Promise<Answered> {
  const url = endpoint(isolate)
  return call(url, bearing(await issuer.token(url.href, {}, { key })))
}

const statuses = async (answers: Promise<Answered>[]) => (await Promise.all(answers)).map(({ status }) => status)
const many = (count: number, one: () => Promise<Answered>) => statuses(Array.from({ length: count }, one))
const all = (count: number, status: number) => Array.from({ length: count }, () => status)

/** Sets the clock to so many milliseconds after the start of the test. It stands still otherwise. */
const ahead = (milliseconds: number) => fetch(new URL(`/clock?ahead=${milliseconds}`, server.url))
const counted = async (what: string) => Number(await (await fetch(new URL(what, server.url))).text())
/** Waits, however busy the machine is. */
const becomes = (count: () => Promise<number>, expected: number) =>
  vi.waitFor(async () => expect(await count()).toBe(expected))
/** How many documents were put into the cache. */
const kept = () => counted('/kept')

/** Sends requests, and waits until all of them have come. */
async function send(count: number, one: () => Promise<Answered>): Promise<() => Promise<number[]>> {
  const before = await counted('/arrived')
  const answers = many(count, one)
  await becomes(() => counted('/arrived'), before + count)
  return () => answers
}

/** How often the issuer was asked for its metadata, and for its keys. */
const asked = () => [issuer.asked.get(metadataPath) ?? 0, issuer.asked.get(keysPath) ?? 0]

/** A server that has used the keys of its issuer, and has put them into the cache. */
async function warm(key = issuer.keys[0] as Key): Promise<void> {
  const before = await kept()
  expect(await ask({ key })).toMatchObject({ status: 200, text: 'ada' })
  await becomes(kept, before + 1)
  expect(asked()).toEqual([1, 1])
}

const misbehaves = (answer: RequestListener) => {
  for (const path of [metadataPath, '/.well-known/openid-configuration', keysPath]) issuer.instead.set(path, answer)
}
const recovers = () => issuer.instead.clear()

const resets: RequestListener = (request) => request.socket.destroy()
const fails: RequestListener = (_, response) => response.writeHead(500).end('<h1>Sorry</h1>')

/** Holds the answers of a path back until they are released. */
function held(path: string) {
  const waiting: ServerResponse[] = []
  const arrived = Promise.withResolvers<void>()
  issuer.instead.set(path, (_, response) => {
    waiting.push(response)
    arrived.resolve()
  })
  return {
    arrived: arrived.promise,
    release() {
      issuer.instead.delete(path)
      for (const response of waiting) json(response, path === keysPath ? published() : issuer.metadata)
    },
  }
}

const published = () => ({ keys: issuer.keys.map(({ publicJwk }) => publicJwk) })

describe('a server without fetched keys', () => {
  test('fetches the keys once for concurrent requests', async () => {
    const keys = held(keysPath)
    const answers = await send(50, ask)
    await keys.arrived
    keys.release()
    expect(await answers()).toEqual(all(50, 200))
    expect(asked()).toEqual([1, 1])
  })

  test('serves other requests when the client of the first one disconnects', async () => {
    const metadata = held(metadataPath)
    const gone = Promise.withResolvers<ServerResponse>()
    issuer.instead.set('/gone', (_, response) => gone.resolve(response))
    const url = new URL(`/abandoned${endpoint().pathname}?until=${issuer.issuer}/gone`, server.url)
    const first = call(url, bearing(await issuer.token(endpoint().href)))
    await metadata.arrived
    const others = await send(10, ask)
    ;(await gone.promise).end()
    expect(await first).toMatchObject({ text: 'given up' })
    metadata.release()
    expect(await others()).toEqual(all(10, 200))
    expect(await ask()).toMatchObject({ status: 200 })
    expect(asked()).toEqual([1, 1])
  })

  const away: [string, RequestListener][] = [
    ['closes the connection', resets],
    ['answers with 500', fails],
    [
      'sends half an answer and closes',
      (_, response) => void response.writeHead(200).write('{"issuer":', () => response.destroy()),
    ],
    ['answers with 404', (_, response) => response.writeHead(404).end()],
  ]
  test.each(away)(
    'whose issuer %s responds 503 with Retry-After, and recovers with the issuer',
    async (_, misbehaviour) => {
      misbehaves(misbehaviour)
      const refused = await ask()
      expect(refused).toMatchObject({ status: 503, text: expect.stringContaining('try again') })
      expect(refused.headers.get('Retry-After')).toBe('5')
      expect(refused.headers.get('WWW-Authenticate')).toBeNull()
      recovers()
      await ahead(6 * second)
      expect(await ask()).toMatchObject({ status: 200, text: 'ada' })
    },
  )

  test('whose issuer does not run responds with Retry-After', async () => {
    await issuer[Symbol.asyncDispose]()
    expect(await ask()).toMatchObject({ status: 503 })
  })

  test.each([metadataPath, keysPath])('responds 503 when the issuer hangs: %s', async (path) => {
    issuer.instead.set(path, path === keysPath ? (_, response) => void response.writeHead(200).write('{') : () => {})
    expect(await many(3, ask)).toEqual(all(3, 503))
    expect(issuer.asked.get(path)).toBe(1)
  })

  test('fetches from a failing issuer every five seconds at most', async () => {
    issuer.instead.set(keysPath, fails)
    expect(await many(20, ask)).toEqual(all(20, 503))
    for (const time of [second, 2 * second, 5 * second - 1]) {
      await ahead(time)
      expect(await ask()).toMatchObject({ status: 503 })
    }
    expect(asked()).toEqual([1, 1])
    // When the header Retry-After of the first response says.
    await ahead(5 * second)
    expect(await many(20, ask)).toEqual(all(20, 503))
    expect(asked()).toEqual([2, 2])
  })

  const value =
    (value: unknown): RequestListener =>
    (_, response) =>
      json(response, value)
  const html: RequestListener = (_, response) =>
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Sign in</title>')
  /** With so many bytes, all but the first of them blank. */
  const padded = (what: unknown, length: number): RequestListener => {
    return (_, response) => void response.writeHead(200).end(JSON.stringify(what).padEnd(length))
  }
  const kilobyte = 1024

  test('accepts up to 256 KiB of keys', async () => {
    issuer.instead.set(keysPath, padded(published(), 256 * kilobyte + 1))
    expect(await ask()).toMatchObject({ status: 503 })
    issuer.instead.set(keysPath, padded(published(), 256 * kilobyte))
    await ahead(6 * second)
    expect(await ask()).toMatchObject({ status: 200 })
  })

  test.each<[string, RequestListener]>([
    ['that are a page', html],
    ['with the status 204', (_, response) => response.writeHead(204).end()],
    ['that are null', value(null)],
    ['that are a text', value('keys')],
    ['that are a bare list', value([])],
    ['that are an object', value({ keys: {} })],
  ])('refuses keys %s', async (_, answer) => {
    issuer.instead.set(keysPath, answer)
    expect(await ask()).toMatchObject({ status: 503 })
  })

  test.each<[string, () => RequestListener]>([
    ['of another issuer', () => value({ ...issuer.metadata, issuer: 'https://evil.example' })],
    ['of the issuer with a slash', () => value({ ...issuer.metadata, issuer: `${issuer.issuer}/` })],
    ['without an issuer', () => value({ jwks_uri: issuer.metadata.jwks_uri })],
    ['without a URL of the keys', () => value({ issuer: issuer.issuer })],
    [
      'with an http URL of the keys on another host',
      () => value({ ...issuer.metadata, jwks_uri: 'http://example.com/' }),
    ],
    ['with the keys in a file', () => value({ ...issuer.metadata, jwks_uri: 'file:///etc/keys' })],
    ['of more than 256 KiB', () => padded(issuer.metadata, 256 * kilobyte + 1)],
    ['that is a page', () => html],
  ])('refuses metadata %s', async (_, answer) => {
    issuer.instead.set(metadataPath, answer())
    expect(await ask()).toMatchObject({ status: 503 })
    expect(issuer.asked.get(keysPath)).toBeUndefined()
  })

  test.each(['oauth-authorization-server', 'jwks'])('does not follow redirects of its issuer: %s', async (path) => {
    expect(await ask({ isolate: `moved-${path}` })).toMatchObject({ status: 503 })
    expect(await ask({ isolate: 'moved-nothing' })).toMatchObject({ status: 200 })
  })

  test('finds metadata at the OpenID Connect URL', async () => {
    issuer.instead.set(metadataPath, fails)
    issuer.instead.set('/.well-known/openid-configuration', (_, response) => json(response, issuer.metadata))
    expect(await ask()).toMatchObject({ status: 200 })
  })

  test('ignores invalid, symmetric and private keys beside valid ones', async () => {
    const [good] = published().keys
    const others = [
      null,
      'key',
      {},
      { kty: 'RSA', kid: 'broken', n: '!', e: 'AQAB' },
      { kty: 'oct', k: 'AAAA', kid: good?.kid },
    ]
    issuer.instead.set(keysPath, value({ keys: [...others, good, { ...good, d: 'AAAA' }] }))
    expect(await ask()).toMatchObject({ status: 200 })
    const broken = { ...(await newKey('RS256')), kid: 'broken' }
    expect(await ask({ key: broken })).toMatchObject({ status: 401 })
  })

  test('reads the first hundred keys', async () => {
    const last = await newKey('ES256')
    issuer.keys.push(...(await Promise.all(Array.from({ length: 99 }, () => newKey('ES256')))), last)
    expect(issuer.keys).toHaveLength(101)
    expect(await ask({ key: issuer.keys[99] as Key })).toMatchObject({ status: 200 })
    expect(await ask({ key: last })).toMatchObject({ status: 401 })
  })
})

describe('a server with fetched keys', () => {
  const hangs: RequestListener = () => {}

  /** Sends one request. Returns what came first: its answer, or the end of the server's wait for an issuer that hangs. */
  async function firstOf(path: string): Promise<Answered | 'the server gave the issuer up'> {
    const givenUp = Promise.withResolvers<'the server gave the issuer up'>()
    issuer.instead.set(path, (_, response) => {
      response.once('close', () => givenUp.resolve('the server gave the issuer up'))
    })
    return await Promise.race([ask(), givenUp.promise])
  }

  test.each([
    ['is well', undefined],
    ['closes connections', resets],
    ['answers with 500', fails],
    ['hangs', hangs],
  ] as const)('does not fetch fresh keys again when the issuer %s', async (_, misbehaviour) => {
    await warm()
    if (misbehaviour) misbehaves(misbehaviour)
    await ahead(9 * minute)
    expect(await many(50, ask)).toEqual(all(50, 200))
    expect(asked()).toEqual([1, 1])
  })

  test.each([
    ['closes connections', resets],
    ['answers with 500', fails],
  ] as const)('uses stale keys when the issuer %s', async (_, misbehaviour) => {
    await warm()
    misbehaves(misbehaviour)
    await ahead(50 * minute)
    expect(await many(10, ask)).toEqual(all(10, 200))
    expect(asked()).toEqual([2, 1])
  })

  test('does not wait for an issuer that hangs when the keys are stale', async () => {
    await warm()
    await ahead(50 * minute)
    expect(await firstOf(metadataPath)).toMatchObject({ status: 200 })
    expect(await many(10, ask)).toEqual(all(10, 200))
    expect(asked()).toEqual([2, 1])
  })

  test('refreshes stale keys once, in the background of a request', async () => {
    await warm()
    const keys = held(keysPath)
    await ahead(11 * minute)
    expect(await many(50, ask)).toEqual(all(50, 200))
    await keys.arrived
    const before = await kept()
    keys.release()
    await becomes(kept, before + 1)
    expect(await ask()).toMatchObject({ status: 200 })
    expect(asked()).toEqual([2, 2])
  })

  test('waits for new keys when its keys are older than an hour', async () => {
    await warm()
    const keys = held(keysPath)
    await ahead(2 * hour)
    const answers = await send(10, ask)
    await keys.arrived
    issuer.keys = [await newKey('ES256')]
    keys.release()
    // Their key was taken back while they waited.
    expect(await answers()).toEqual(all(10, 401))
  })

  test('uses old keys for a day while the issuer fails', async () => {
    await warm()
    misbehaves(fails)
    for (const time of [2 * hour, 12 * hour, 24 * hour - minute]) {
      await ahead(time)
      expect(await ask()).toMatchObject({ status: 200 })
    }
    await ahead(24 * hour + minute)
    expect(await ask()).toMatchObject({ status: 503 })
    recovers()
    await ahead(24 * hour + 2 * minute)
    expect(await ask()).toMatchObject({ status: 200 })
  })

  test('waits only once for an issuer that hangs for hours', async () => {
    await warm()
    issuer.instead.set(metadataPath, hangs)
    await ahead(2 * hour)
    expect(await ask()).toMatchObject({ status: 200 })
    await ahead(2 * hour + 10 * second)
    expect(await firstOf(metadataPath)).toMatchObject({ status: 200 })
  })

  test('continues with an issuer that fails every second request', async () => {
    await warm()
    let turn = 0
    issuer.instead.set(keysPath, (_, response) => {
      turn += 1
      if (turn % 2 === 1) fails(_, response)
      else json(response, published())
    })
    for (let time = 2 * hour; time < 40 * hour; time += 2 * hour) {
      await ahead(time)
      expect(await many(5, ask)).toEqual(all(5, 200))
    }
    expect(turn).toBeGreaterThan(10)
  })
})

describe('a key rotation', () => {
  test('makes the server accept the new key at once, and the old one as well', async () => {
    await warm()
    await ahead(31 * second)
    const [old, fresh] = [issuer.keys[0] as Key, await newKey('ES256')]
    issuer.keys = [fresh, old]
    expect(await ask({ key: fresh })).toMatchObject({ status: 200 })
    expect(await ask({ key: old })).toMatchObject({ status: 200 })
    expect(asked()).toEqual([2, 2])
  })

  test('makes concurrent requests with the new key succeed', async () => {
    await warm()
    await ahead(31 * second)
    const fresh = await newKey('ES256')
    issuer.keys.push(fresh)
    const keys = held(keysPath)
    const answers = await send(10, () => ask({ key: fresh }))
    await keys.arrived
    // By now the others have looked for their key as well.
    expect(await ask()).toMatchObject({ status: 200 })
    keys.release()
    expect(await answers()).toEqual(all(10, 200))
    expect(asked()).toEqual([2, 2])
  })

  test('makes the server reject a removed key after the next fetch', async () => {
    await warm()
    const [old, fresh] = [issuer.keys[0] as Key, await newKey('ES256')]
    issuer.keys = [fresh]
    await ahead(31 * second)
    expect(await ask({ key: old })).toMatchObject({ status: 200 })
    expect(await ask({ key: fresh })).toMatchObject({ status: 200 })
    expect(await ask({ key: old })).toMatchObject({ status: 401 })
  })

  test('makes the server reject a key that was replaced under its kid after the next fetch', async () => {
    await warm()
    const [old] = issuer.keys as [Key]
    const fresh = await newKey('ES256', old.kid)
    issuer.keys = [fresh]
    await ahead(11 * minute)
    const before = await kept()
    expect(await ask({ key: old })).toMatchObject({ status: 200 })
    await becomes(kept, before + 1)
    expect(await ask({ key: fresh })).toMatchObject({ status: 200 })
    expect(await ask({ key: old })).toMatchObject({ status: 401 })
  })

  test('makes the server accept a key without a kid that replaced another one, at once', async () => {
    const unnamed = (key: Key) => ({ ...key, kid: undefined as unknown as string })
    const [old, fresh] = [unnamed(issuer.keys[0] as Key), unnamed(await newKey('ES256'))]
    const publish = ({ publicJwk }: Key) =>
      issuer.instead.set(keysPath, (_, response) => json(response, { keys: [{ ...publicJwk, kid: undefined }] }))
    publish(old)
    await warm(old)
    await ahead(31 * second)
    publish(fresh)
    expect(await ask({ key: fresh })).toMatchObject({ status: 200 })
    expect(await ask({ key: old })).toMatchObject({ status: 401 })
    expect(asked()).toEqual([2, 2])
  })

  test.each([
    ['with a name', 1],
    ['without a name', 2],
  ])('200 forged signatures %s cause at most one more fetch', async (named, times) => {
    await warm()
    const forged = await newKey('ES256', named === 'with a name' ? (issuer.keys[0] as Key).kid : undefined)
    const key = { ...forged, ...(named === 'without a name' && { kid: undefined as unknown as string }) }
    await ahead(31 * second)
    expect(await many(200, () => ask({ key }))).toEqual(all(200, 401))
    expect(asked()).toEqual([times, times])
    expect(await ask()).toMatchObject({ status: 200 })
  })

  test('causes a 503 for a new key until the issuer recovers', async () => {
    await warm()
    await ahead(31 * second)
    const fresh = await newKey('ES256')
    issuer.keys.push(fresh)
    issuer.instead.set(keysPath, fails)
    expect(await ask({ key: fresh })).toMatchObject({ status: 503 })
    recovers()
    await ahead(37 * second)
    expect(await ask({ key: fresh })).toMatchObject({ status: 200 })
  })

  test('makes the server accept the new key, although a token with an invented kid was just refused', async () => {
    await warm()
    const fresh = await newKey('ES256')
    expect(await ask({ key: { ...fresh, kid: 'invented' } })).toMatchObject({ status: 401 })
    issuer.keys.push(fresh)
    expect(await ask({ key: fresh })).toMatchObject({ status: 200 })
    expect(asked()).toEqual([3, 3])
  })

  test('causes five fetches within 30 seconds for many tokens with unknown kids, and then a 503', async () => {
    await warm()
    const unknown = await newKey('ES256')
    const invented = () => ask({ key: { ...unknown, kid: crypto.randomUUID() } })
    for (let at = 0; at < 5; at++) expect(await invented()).toMatchObject({ status: 401 })
    expect(await many(200, invented)).toEqual(all(200, 503))
    expect(asked()).toEqual([6, 6])
    expect(await ask()).toMatchObject({ status: 200 })
    await ahead(31 * second)
    expect(await invented()).toMatchObject({ status: 401 })
    expect(asked()).toEqual([7, 7])
  })

  test('keeps the known keys in use while the issuer fails, for many tokens with unknown kids', async () => {
    await warm()
    misbehaves(fails)
    const unknown = await newKey('ES256')
    await ahead(31 * second)
    await many(200, () => ask({ key: { ...unknown, kid: crypto.randomUUID() } }))
    expect(asked()).toEqual([2, 1])
    expect(await many(10, ask)).toEqual(all(10, 200))
  })
})

describe('another isolate of the data center', () => {
  test('reads the keys from the edge cache without a request to the issuer', async () => {
    await warm()
    misbehaves(fails)
    expect(await many(20, () => ask({ isolate: 'second' }))).toEqual(all(20, 200))
    expect(asked()).toEqual([1, 1])
  })

  test('caches keys in the edge cache as long as in the isolate', async () => {
    await warm()
    misbehaves(fails)
    const times = [9 * minute, 50 * minute, 2 * hour, 24 * hour - minute, 24 * hour + minute]
    const found = []
    for (const [index, time] of times.entries()) {
      await ahead(time)
      found.push([(await ask({ isolate: `isolate-${index}` })).status, asked()[0]])
    }
    expect(found).toEqual([
      [200, 1],
      [200, 2],
      [200, 3],
      [200, 4],
      [503, 5],
    ])
  })

  test('uses keys that were fetched again after a change', async () => {
    await warm()
    await ahead(31 * second)
    const fresh = await newKey('ES256')
    issuer.keys.push(fresh)
    const before = await kept()
    expect(await ask({ key: fresh })).toMatchObject({ status: 200 })
    await becomes(kept, before + 1)
    expect(await ask({ isolate: 'second', key: fresh })).toMatchObject({ status: 200 })
    expect(asked()).toEqual([2, 2])
  })

  test('does not use keys of another issuer', async () => {
    await warm()
    await using other = await AuthorizationServer.start()
    const url = new URL(`/${new URL(other.issuer).port}/first/mcp`, server.url)
    const forged = await issuer.token(url.href, { iss: other.issuer })
    expect(await call(url, bearing(forged))).toMatchObject({ status: 401 })
    expect(other.asked.get(keysPath)).toBe(1)
  })
})

describe('the edge cache, which other Workers of the zone can write to', () => {
  const lastEntry = () => new URL('/last-entry', server.url)
  const replaceEntry = (body: string) => fetch(lastEntry(), { method: 'PUT', body })
  const forgedDocument = (key: Key) => ({
    at: Date.now() - second,
    metadata: issuer.metadata,
    keys: { keys: [{ ...key.publicJwk, alg: 'ES256' }] },
  })

  test.each<[string, (key: Key, entry: string) => string]>([
    ['a plain document', (key) => JSON.stringify(forgedDocument(key))],
    ['a document behind a MAC of zeros', (key) => `k1.${'A'.repeat(64)}${btoa(JSON.stringify(forgedDocument(key)))}`],
    ['a changed entry', (_, entry) => entry.slice(0, -1) + (entry.endsWith('A') ? 'Q' : 'A')],
    ['an empty entry', () => ''],
  ])('is not trusted with %s: the server fetches the keys from the issuer', async (_, forgeryOf) => {
    await warm()
    const forged = await newKey('ES256')
    await replaceEntry(forgeryOf(forged, await (await fetch(lastEntry())).text()))
    expect(await ask({ isolate: 'second', key: forged })).toMatchObject({ status: 401 })
    expect(await ask({ isolate: 'second' })).toMatchObject({ status: 200 })
    expect(asked()).toEqual([2, 2])
  })

  test('is not trusted with an entry of another issuer', async () => {
    await warm()
    const entry = await (await fetch(lastEntry())).text()
    await using other = await AuthorizationServer.start()
    const url = (isolate: string) => new URL(`/${new URL(other.issuer).port}/${isolate}/mcp`, server.url)
    const before = await kept()
    const token = await other.token(url('first').href, {})
    expect(await call(url('first'), bearing(token))).toMatchObject({ status: 200 })
    await becomes(kept, before + 1)
    await replaceEntry(entry)
    const forged = await issuer.token(url('second').href, { iss: other.issuer })
    expect(await call(url('second'), bearing(forged))).toMatchObject({ status: 401 })
  })

  test('does not share entries between servers with the same EDGEMCP_KEYS', async () => {
    await warm()
    expect(await ask({ isolate: 'foreign-one' })).toMatchObject({ status: 200 })
    expect(asked()).toEqual([2, 2])
  })

  test('is unused without EDGEMCP_KEYS', async () => {
    await using keyless = await startServer('test/auth/keys')
    const port = new URL(issuer.issuer).port
    for (const isolate of ['first', 'second']) {
      const url = new URL(`/${port}/${isolate}/mcp`, keyless.url)
      expect(await call(url, bearing(await issuer.token(url.href)))).toMatchObject({ status: 200 })
    }
    expect(asked()).toEqual([2, 2])
    expect(await (await fetch(new URL('/kept', keyless.url))).text()).toBe('0')
  })
})
