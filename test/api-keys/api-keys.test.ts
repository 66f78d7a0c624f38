/** `apiKeys()`: what keys are accepted, and how they are managed. */
import { globSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { AuthorizationServer } from '../auth/authorization-server.ts'
import { bearing, call } from '../auth/call.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { Manager } from './manage.ts'

let server: TestServer
let issuer: AuthorizationServer
const at = (name: string) => new URL(`/${name}/mcp`, server.url)
const managing = (name: string) => new Manager(server, name)
/** An owner of one test. */
const someone = (tenant?: string) => ({ subject: crypto.randomUUID(), ...(tenant !== undefined && { tenant }) })
const header = (value: string) => ({ 'X-API-Key': value })
const unknown = 'The API key is unknown, expired or revoked'
const malformed = 'The API key is malformed: copy it again, from its first to its last character'

beforeAll(async () => {
  issuer = await AuthorizationServer.start()
  server = await startServer('test/api-keys/server', { ISSUER: issuer.issuer })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await issuer?.[Symbol.asyncDispose]()
})

/** Adds the checksum of a key, as secret scanners compute it. */
function withChecksum(start: string): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let checksum = ''
  for (let rest = crc32(start); checksum.length < 6; rest = Math.floor(rest / 62))
    checksum = digits[rest % 62] + checksum
  return start + checksum
}
const foreignKey = (prefix: string) => withChecksum(`${prefix}_${crypto.randomUUID().replaceAll('-', '')}ABCDEFGHIJK`)

describe('a key', () => {
  test('is accepted as a bearer token and in the header, and has the principal of its owner', async () => {
    const owner = someone('acme')
    const { key } = await managing('plain').create(owner, { scopes: ['notes:read'], claims: { plan: 'pro' } })
    expect(key).toMatch(/^notes_[0-9A-Za-z]{49}$/)
    expect(key).toBe(withChecksum(key.slice(0, -6)))
    for (const headers of [bearing(key), header(key)]) {
      const { status, text } = await call(at('plain'), headers)
      expect(status).toBe(200)
      expect(JSON.parse(text)).toEqual({
        issuer: 'api-keys:["notes","/plain/mcp"]',
        ...owner,
        plan: 'pro',
        hasCredential: false,
      })
      expect(await call(at('plain'), headers, 'read')).toMatchObject({ text: 'read' })
    }
  })

  test('has no more than its scopes', async () => {
    const { key } = await managing('plain').create(someone(), {})
    const refused = await call(at('plain'), bearing(key), 'read')
    expect(refused).toMatchObject({ status: 403, text: 'Requires the scopes notes:read' })
    expect(refused.headers.get('WWW-Authenticate')).toMatch(/^Bearer scope="notes:read", error="insufficient_scope"/)
  })

  test('is listed without its secret, with its last use', async () => {
    const owner = someone()
    const manager = managing('plain')
    const { key, ...created } = await manager.create(owner, { name: 'Laptop', scopes: ['a', 'a'], expiresIn: '1h' })
    expect(created).toMatchObject({ name: 'Laptop', scopes: ['a'], expiresAt: created.createdAt + 3_600_000 })
    expect(await manager.list(owner)).toEqual([created])
    await call(at('plain'), bearing(key))
    await vi.waitFor(async () => expect((await manager.list(owner))[0]?.lastUsedAt).toBeGreaterThan(0), 10_000)
    expect(JSON.stringify(await manager.list(owner))).not.toContain(key.slice(6))
  })

  test('expires after a year if nothing else is said, and never with Infinity', async () => {
    const { createdAt, expiresAt } = await managing('plain').create(someone())
    expect(expiresAt).toBe(createdAt + 365 * 86_400_000)
  })

  test('that is revoked is refused, and revoking it again returns false', async () => {
    const owner = someone()
    const manager = managing('plain')
    const { key, id } = await manager.create(owner)
    expect(await call(at('plain'), bearing(key))).toMatchObject({ status: 200 })
    expect(await manager.revoke(owner, id)).toBe(true)
    expect(await call(at('plain'), bearing(key))).toMatchObject({ status: 401, text: unknown })
    expect(await manager.revoke(owner, id)).toBe(false)
    expect(await manager.list(owner)).toEqual([])
  })

  test('that is rotated is valid for the grace period, and its successor has what it had', async () => {
    const owner = someone('acme')
    const manager = managing('plain')
    const old = await manager.create(owner, { name: 'CI', scopes: ['notes:read'], claims: { plan: 'pro' } })
    const { key, ...successor } = await manager.rotate(owner, old.id)
    expect(successor).toMatchObject({ name: 'CI', scopes: ['notes:read'], claims: { plan: 'pro' } })
    for (const text of [old.key, key]) {
      expect(await call(at('plain'), bearing(text), 'read')).toMatchObject({ status: 200 })
    }
    expect(await manager.list(owner)).toMatchObject([{ id: old.id, replacedBy: successor.id }, { id: successor.id }])
    expect(await manager.ask('rotate', owner, old.id)).toEqual({
      error: `The API key "${old.id}" was rotated before: rotate "${successor.id}"`,
    })
    await manager.rotate(owner, successor.id, { grace: 0 })
    expect(await call(at('plain'), bearing(key))).toMatchObject({ status: 401, text: unknown })
  })

  test('that is rotated several times at once has one successor', async () => {
    const owner = someone()
    const manager = managing('other')
    const { id } = await manager.create(owner)
    const answers = await Promise.all([1, 2, 3].map(() => manager.ask('rotate', owner, id)))
    expect(answers.filter(({ value }) => value)).toHaveLength(1)
    expect(await manager.list(owner)).toHaveLength(2)
  })

  test('beyond maxPerOwner is not created, and a rotation is possible', async () => {
    const owner = someone()
    const manager = managing('plain')
    const [first] = await Promise.all([1, 2, 3].map(() => manager.create(owner)))
    const full = { error: 'The owner has 3 API keys, the maximum: revoke one, or set maxPerOwner of apiKeys()' }
    expect(await manager.ask('create', owner)).toEqual(full)
    await manager.rotate(owner, first?.id ?? '')
    expect(await manager.ask('create', owner)).toEqual(full)
  })

  test('is rotated at any number of keys, all at once, and again while the keys before it are valid', async () => {
    const owner = someone()
    const manager = managing('plain')
    const keys = await Promise.all([1, 2, 3].map(() => manager.create(owner)))
    const rotated = await Promise.all(keys.map(({ id }) => manager.rotate(owner, id)))
    let { id } = rotated[0] as { id: string }
    for (let count = 0; count < 8; count += 1) ({ id } = await manager.rotate(owner, id))
    expect((await manager.list(owner)).filter(({ replacedBy }) => replacedBy === undefined)).toHaveLength(3)
  })

  test('has no claims of toJSON() that the key decides, and no lifetime beyond a century', async () => {
    const owner = someone()
    const manager = managing('plain')
    const claims = { toJSON: { tenant: 'evil', scp: 'admin' } }
    expect((await manager.ask('create', owner, { claims })).error).toMatch(/"claims" .*an object without iss/)
    for (let count = 0; count < 4; count += 1) {
      expect((await manager.ask('create', owner, { expiresIn: '99999d' })).error).toBe(
        'expiresIn of create() of apiKeys() must be at most 36500 days, or Infinity',
      )
    }
    await manager.create(owner)
  })

  test('costs one request when it is cold, and none when it is warm', async () => {
    const { key } = await managing('cached').create(someone())
    const calls = async () => (await (await fetch(new URL('/calls', server.url))).json()) as Record<string, number>
    const { verify: before = 0 } = await calls()
    for (const _ of [1, 2, 3]) expect(await call(at('cached'), bearing(key))).toMatchObject({ status: 200 })
    expect((await calls()).verify).toBe(before + 1)
  })

  test('records its use once an hour', async () => {
    const { key } = await managing('plain').create(someone())
    const calls = async () => (await (await fetch(new URL('/calls', server.url))).json()) as Record<string, number>
    await call(at('plain'), bearing(key))
    await vi.waitFor(async () => expect((await calls()).recordUse).toBeGreaterThan(0), 10_000)
    const { recordUse } = await calls()
    for (const _ of [1, 2, 3]) await call(at('plain'), bearing(key))
    expect((await calls()).recordUse).toBe(recordUse)
  })

  test('is one of several kinds of credentials with oneOf()', async () => {
    const { key } = await managing('mixed').create({ subject: 'ada' }, { scopes: ['notes:read'] })
    const token = await issuer.token(at('mixed').href)
    expect(await call(at('mixed'), bearing(key), 'read')).toMatchObject({ status: 200 })
    expect(await call(at('mixed'), header(key))).toMatchObject({ text: expect.stringContaining('"api-keys:[') })
    expect(await call(at('mixed'), bearing(token))).toMatchObject({ text: expect.stringContaining(issuer.issuer) })
    expect(await call(at('mixed'), bearing(token), 'read')).toMatchObject({ status: 403 })
    const refused = await call(at('mixed'), bearing(foreignKey('mcp')))
    expect(refused).toMatchObject({ status: 401, text: unknown })
    expect(refused.headers.get('WWW-Authenticate')).toContain('resource_metadata=')
  })
})

describe('attacks with the text of a key', () => {
  const swapped = (key: string) => key.slice(0, 20) + key.charAt(21) + key.charAt(20) + key.slice(22)
  const flipped = (key: string) =>
    [...key].map((letter) => (/[a-z]/.test(letter) ? letter.toUpperCase() : letter.toLowerCase())).join('')
  const forged: readonly (readonly [string, (key: string) => HeadersInit, object])[] = [
    ['none', () => ({}), { status: 401, text: 'Authorization is required: send an API key' }],
    ['an empty header', () => header(''), { status: 401, text: malformed }],
    ['another scheme', (key) => ({ Authorization: `Basic ${btoa(key)}` }), { status: 401 }],
    ['the scheme DPoP', (key) => ({ Authorization: `DPoP ${key}` }), { status: 400 }],
    ['no scheme', (key) => ({ Authorization: key }), { status: 401 }],
    ['the prefix alone', () => bearing('notes_'), { status: 401, text: malformed }],
    ['without its prefix', (key) => bearing(key.slice(6)), { status: 401, text: malformed }],
    ['another prefix', (key) => bearing(`mcp_${key.slice(6)}`), { status: 401, text: malformed }],
    [
      'another prefix of the same length with its checksum',
      (key) => bearing(withChecksum(`nodes_${key.slice(6, -6)}`)),
      { status: 401, text: malformed },
    ],
    ['the prefix twice', (key) => bearing(`notes_${key}`), { status: 401, text: malformed }],
    ['the prefix in capitals', (key) => bearing(key.replace('notes', 'NOTES')), { status: 401, text: malformed }],
    ['without its last character', (key) => bearing(key.slice(0, -1)), { status: 401, text: malformed }],
    ['one character more', (key) => bearing(`${key}0`), { status: 401, text: malformed }],
    ['without its checksum', (key) => bearing(key.slice(0, -6)), { status: 401, text: malformed }],
    [
      'two characters swapped',
      (key) => bearing(swapped(key) === key ? key.slice(1) : swapped(key)),
      { status: 401, text: malformed },
    ],
    [
      'capitals and small letters swapped',
      (key) => bearing(`notes_${flipped(key.slice(6))}`),
      { status: 401, text: malformed },
    ],
    ['another secret with its checksum', () => bearing(foreignKey('notes')), { status: 401, text: unknown }],
    ['a secret of zeros', () => bearing(withChecksum(`notes_${'0'.repeat(43)}`)), { status: 401, text: unknown }],
    [
      'a secret beyond 256 bits',
      () => bearing(withChecksum(`notes_${'z'.repeat(43)}`)),
      { status: 401, text: unknown },
    ],
    [
      'dashes and dots in the secret',
      () => bearing(withChecksum(`notes_${'-.'.repeat(21)}a`)),
      { status: 401, text: malformed },
    ],
    ['padding', (key) => bearing(`${key}=`), { status: 401, text: malformed }],
    ['a space in it', (key) => bearing(`${key.slice(0, 20)} ${key.slice(20)}`), { status: 400 }],
    ['a tab before it', (key) => ({ Authorization: `Bearer\t${key}` }), { status: 401 }],
    ['a comma after it', (key) => bearing(`${key},`), { status: 400 }],
    ['twice in one header', (key) => bearing(`${key}, Bearer ${key}`), { status: 400 }],
    ['twice in its own header', (key) => header(`${key}, ${key}`), { status: 401, text: malformed }],
    ['quoted', (key) => header(`"${key}"`), { status: 401, text: malformed }],
    ['with its scheme in its own header', (key) => header(`Bearer ${key}`), { status: 401, text: malformed }],
    [
      'in both headers',
      (key) => ({ ...bearing(key), ...header(key) }),
      { status: 400, text: 'The request has credentials in Authorization and X-API-Key: send one of them' },
    ],
    ['beside a bad bearer token', (key) => ({ ...bearing('nonsense'), ...header(key) }), { status: 400 }],
    ['beside Basic', (key) => ({ Authorization: 'Basic YTpi', ...header(key) }), { status: 400 }],
    ['in a cookie', (key) => ({ Cookie: `X-API-Key=${key}` }), { status: 401 }],
    ['in another header', (key) => ({ 'Api-Key': key }), { status: 401 }],
    ['latin letters above ASCII', (key) => header(`${key.slice(0, -1)}é`), { status: 401, text: malformed }],
    ['a line break as text', (key) => header(`${key}%0d%0aX-Admin: 1`), { status: 401, text: malformed }],
    ['10 KB', () => bearing(`notes_${'a'.repeat(10_000)}`), { status: 401, text: malformed }],
    ['10 KB in its own header', () => header(`notes_${'a'.repeat(10_000)}`), { status: 401, text: malformed }],
    [
      'a JWT',
      () => bearing('eyJhbGciOiJub25lIn0.eyJpc3MiOiJhcGkta2V5cyIsInN1YiI6ImFkYSJ9.'),
      { status: 401, text: malformed },
    ],
    ['a token of sign-in', () => bearing('github.1:grant:secret'), { status: 400 }],
    ['a path', () => bearing('notes_/../../key'), { status: 401, text: malformed }],
    ['the name of an object', () => header('["key","notes","a"]'), { status: 401, text: malformed }],
  ]
  test.each(forged)('%s', async (_, headers, outcome) => {
    const { key } = await managing('plain').create(someone())
    expect(await call(at('plain'), headers(key))).toMatchObject(outcome)
    expect(await call(at('plain'), bearing(key))).toMatchObject({ status: 200 })
  })

  test('a key in the URL', async () => {
    const { key } = await managing('plain').create(someone())
    expect(await call(new URL(`?access_token=${key}`, at('plain')))).toMatchObject({ status: 400 })
    expect(await call(new URL(`?api_key=${key}`, at('plain')))).toMatchObject({ status: 401 })
  })

  test('the id and the hash of a key are no keys', async () => {
    const { id } = await managing('plain').create(someone())
    for (const text of [id, `notes_${id}`, withChecksum(`notes_${id.padEnd(43, '0')}`)]) {
      expect(await call(at('plain'), bearing(text))).toMatchObject({ status: 401 })
    }
  })

  test('bad keys are refused where anonymous callers are admitted', async () => {
    expect(await call(at('open'))).toMatchObject({ status: 200 })
    for (const headers of [bearing(foreignKey('mcp')), bearing('mcp_x'), header(''), header('x')]) {
      expect(await call(at('open'), headers)).toMatchObject({ status: 401 })
    }
  })
})

describe('attacks across owners, tenants and endpoints', () => {
  test('a key of one endpoint is unknown at another one with the same prefix', async () => {
    const owner = someone()
    const { key, id } = await managing('plain').create(owner)
    expect(await call(at('other'), bearing(key))).toMatchObject({ status: 401, text: unknown })
    expect(await managing('other').list(owner)).toEqual([])
    expect(await managing('other').revoke(owner, id)).toBe(false)
    expect(await managing('other').ask('rotate', owner, id)).toEqual({ error: `The owner has no API key "${id}"` })
    expect(await call(at('plain'), bearing(key))).toMatchObject({ status: 200 })
  })

  test.each([
    ['another owner', { subject: 'mallory' }],
    ['the owner in another tenant', { subject: 'victim', tenant: 'globex' }],
    ['the owner without the tenant', { subject: 'victim' }],
  ])('%s cannot list, revoke or rotate a key', async (_, attacker) => {
    const manager = managing('other')
    const { key, id } = await manager.create({ subject: 'victim', tenant: 'acme' })
    expect((await manager.list(attacker)).map((one) => one.id)).not.toContain(id)
    expect(await manager.revoke(attacker, id)).toBe(false)
    expect(await manager.ask('rotate', attacker, id)).toEqual({ error: `The owner has no API key "${id}"` })
    expect(await call(at('other'), bearing(key))).toMatchObject({ status: 200 })
    await manager.revoke({ subject: 'victim', tenant: 'acme' }, id)
  })

  test('subjects that look alike are different owners', async () => {
    const manager = managing('other')
    const { id } = await manager.create({ subject: 'caf\u00e9' })
    for (const subject of ['cafe\u0301', 'cafe', 'caf\u00e9 ', 'CAF\u00c9', 'caf\u00e9"],["']) {
      expect((await manager.list({ subject })).map((one) => one.id)).not.toContain(id)
    }
  })

  test('forTenant() refuses keys of other tenants and of none', async () => {
    const manager = managing('acme')
    const statusOf = async (owner: object) =>
      (await call(at('acme'), bearing((await manager.create(owner)).key))).status
    expect(await statusOf(someone('acme'))).toBe(200)
    expect(await statusOf(someone('globex'))).toBe(403)
    expect(await statusOf(someone())).toBe(403)
  })

  test('requiredScopes and requireTenant hold for keys', async () => {
    const manager = managing('strict')
    const statusOf = async (owner: object, scopes: string[]) =>
      (await call(at('strict'), bearing((await manager.create(owner, { scopes })).key))).status
    expect(await statusOf(someone('acme'), ['base'])).toBe(200)
    expect(await statusOf(someone('acme'), [])).toBe(403)
    expect(await statusOf(someone(), ['base'])).toBe(403)
  })

  test('a key that has expired is refused and not listed', async () => {
    const owner = someone()
    const manager = managing('plain')
    const { key } = await manager.create(owner, { expiresIn: 1 })
    await vi.waitFor(async () => {
      expect(await call(at('plain'), bearing(key))).toMatchObject({ status: 401, text: unknown })
    })
    expect(await manager.list(owner)).toEqual([])
  })

  test('a JWT cannot name the issuer of keys', async () => {
    const token = await issuer.token(at('mixed').href, { iss: 'api-keys:["notes","/mixed/mcp"]' })
    expect(await call(at('mixed'), bearing(token))).toMatchObject({ status: 401 })
    expect(await call(at('mixed'), header(token))).toMatchObject({ status: 401, text: malformed })
    const { key } = await managing('mixed').create(someone())
    expect(await call(at('mixed'), { ...bearing(token), ...header(key) })).toMatchObject({ status: 400 })
  })

  test.each<[string, string, unknown[], string]>([
    ['no owner', 'create', [], 'takes an object with subject and tenant'],
    ['a principal', 'list', [{ issuer: 'a', subject: 'ada' }], 'does not take "issuer"'],
    ['an empty subject', 'create', [{ subject: '' }], '"subject" of the owner of create() of apiKeys() must be'],
    ['a long subject', 'create', [{ subject: 'a'.repeat(257) }], 'must be a text of 1 to 256 characters'],
    ['half a character', 'create', [{ subject: '\ud800' }], 'must be a text of 1 to 256 characters'],
    ['an empty tenant', 'create', [{ subject: 'a', tenant: '' }], '"tenant" of the owner'],
    ['a tenant that is null', 'list', [{ subject: 'a', tenant: null }], '"tenant" of the owner'],
    ['a scope with a space', 'create', [{ subject: 'a' }, { scopes: ['a b'] }], '"scopes" of create() of apiKeys()'],
    ['the claim iss', 'create', [{ subject: 'a' }, { claims: { iss: 'b' } }], '"claims" of create() of apiKeys()'],
    ['the claim scope', 'create', [{ subject: 'a' }, { claims: { scope: 'admin' } }], '"claims" of create()'],
    ['large claims', 'create', [{ subject: 'a' }, { claims: { a: 'b'.repeat(5000) } }], 'at most 4096 characters'],
    ['a negative duration', 'create', [{ subject: 'a' }, { expiresIn: -1 }], '"expiresIn" of create()'],
    ['a misspelt option', 'create', [{ subject: 'a' }, { expires: '1d' }], 'does not take "expires"'],
    ['no id', 'revoke', [{ subject: 'a' }], '"id" of revoke() of apiKeys() must be'],
    ['the id of nothing', 'rotate', [{ subject: 'a' }, '../../key'], 'The owner has no API key "../../key"'],
  ])('%s is an error', async (_, method, args, error) => {
    expect(await managing('plain').ask(method, ...args)).toEqual({ error: expect.stringContaining(error) })
  })

  test('keys cannot be managed before they are served', async () => {
    expect(await managing('nowhere').ask('list', { subject: 'a' })).toEqual({
      error: expect.stringContaining('apiKeys() is not served'),
    })
  })

  test('a flood of unknown keys of one network ends in 429, and known networks are served', async () => {
    const from = (address: string, key: string) => call(at('plain'), { ...bearing(key), 'CF-Connecting-IP': address })
    const { key } = await managing('plain').create(someone())
    for (let sent = 0; sent < 50; sent += 1) await from('192.0.2.1', foreignKey('notes'))
    expect(await from('192.0.2.1', foreignKey('notes'))).toMatchObject({ status: 429 })
    expect(await from('192.0.2.2', foreignKey('notes'))).toMatchObject({ status: 401 })
    expect(await from('192.0.2.3', key)).toMatchObject({ status: 200 })
  })

  test('a flood of unknown keys does not lock out a key of its network that is verified on each call', async () => {
    const from = (key: string) => call(at('plain'), { ...bearing(key), 'CF-Connecting-IP': '192.0.2.9' })
    const manager = managing('plain')
    const owner = someone()
    const { key, id } = await manager.create(owner)
    expect(await from(key)).toMatchObject({ status: 200 })
    for (let sent = 0; sent < 50; sent += 1) await from(foreignKey('notes'))
    expect(await from(foreignKey('notes'))).toMatchObject({ status: 429 })
    expect(await from(key)).toMatchObject({ status: 200 })
    await manager.revoke(owner, id)
    expect(await from(key)).toMatchObject({ status: 401, text: unknown })
    expect(await from(foreignKey('notes'))).toMatchObject({ status: 429 })
  })
})

test('no key is in the files of the objects, in the log or in a response', async () => {
  const manager = managing('plain')
  const owner = someone()
  const { key, id } = await manager.create(owner)
  await call(at('plain'), header(key), key)
  await call(at('plain'), bearing(key), key)
  const rotated = await manager.rotate(owner, id)
  const files = globSync(join(tmpdir(), 'miniflare-*', '**', '*McpApiKeys*', '*'))
  const contents = files.flatMap((file) => {
    try {
      return [readFileSync(file)]
    } catch {
      return []
    }
  })
  const holding = (text: string) => contents.filter((content) => content.includes(text)).length
  // The owner is stored in clear, so these are the right files.
  expect(holding(owner.subject)).toBeGreaterThan(0)
  for (const text of [key, rotated.key]) {
    expect(holding(text.slice(6, 40))).toBe(0)
    expect(JSON.stringify(server.harness.getLogs())).not.toContain(text.slice(6, 40))
  }
})
