import { describe, expect, test } from 'vitest'
import type { Principal } from '../../worker/protocol/principal.ts'
import { type KeyRing, mintKeyRing, parseKeyRing, sealer } from '../../worker/sealing/seal.ts'

const keyA = 'A'.repeat(43)
const keyB = `${'B'.repeat(42)}A`
const ring = parseKeyRing(`a:${keyA}`)
const ada: Principal = { issuer: 'https://id.example.com', subject: 'ada', client: 'app', scopes: ['x'], claims: {} }
const second = 1000

/** A sealer with a clock to turn. */
function clocked(keys = ring) {
  let time = 1_000_000
  const pass = (milliseconds: number) => {
    time += milliseconds
  }
  return { ...sealer(keys, () => time), pass }
}

const sealed = () => clocked().seal('journal', ada, { secret: 'of ada' }, second)
const open = (text: string, changes: { purpose?: string; principal?: Principal | undefined; keys?: KeyRing } = {}) => {
  const { purpose, principal, keys } = { purpose: 'journal', principal: ada, keys: ring, ...changes }
  return clocked(keys).open(purpose, principal, text)
}

describe('unseals a sealed value', () => {
  test.each<[string, unknown]>([
    ['an object', { a: [1, { b: null }] }],
    ['a text', 'hello, 世界'],
    ['null', null],
    ['false', false],
    ['zero', 0],
    ['a long text', 'x'.repeat(200_000)],
  ])('%s', async (_, value) => {
    const { seal, open } = clocked()
    expect(await open('journal', ada, await seal('journal', ada, value, second))).toEqual(value)
  })

  test('without a principal when it was sealed without one', async () => {
    const { seal, open } = clocked()
    expect(await open('journal', undefined, await seal('journal', undefined, 1, second))).toBe(1)
  })

  test('for the same principal with other scopes and claims', async () => {
    expect(await open(await sealed(), { principal: { ...ada, scopes: [], claims: { exp: 5 } } })).toEqual({
      secret: 'of ada',
    })
  })

  test('in another isolate with the same keys', async () => {
    const text = await sealer(ring).seal('journal', ada, 1, second)
    expect(await sealer(parseKeyRing(`a:${keyA}`)).open('journal', ada, text)).toBe(1)
  })
})

describe('a sealed text', () => {
  test('does not contain its value in plain text', async () => {
    const text = await sealed()
    expect(text).toMatch(/^a\.[A-Za-z0-9_-]+$/)
    expect(Buffer.from(text.slice(2), 'base64url').toString('latin1')).not.toContain('ada')
  })

  test('differs each time, even for the same value', async () => {
    const texts = await Promise.all(Array.from({ length: 50 }, sealed))
    expect(new Set(texts).size).toBe(50)
    expect(new Set(texts.map((text) => text.slice(2, 18))).size).toBe(50)
  })

  test('has only characters that are allowed in a header', async () => {
    expect(await sealed()).toMatch(/^[\x21-\x7e]+$/)
  })
})

describe('an id', () => {
  const idOf = (keys = ring) => clocked(keys).createId('state:notes', ada, second, false)
  const openId = (id: string, changes: { purpose?: string; principal?: Principal | undefined; keys?: KeyRing } = {}) =>
    open(id, { purpose: 'state:notes', ...changes })

  test('has 39 characters, and returns its expiry and its flag', async () => {
    const { createId, open } = clocked()
    const [plain, marked] = [
      await createId('task', ada, second, false),
      await createId('task', ada, Number.POSITIVE_INFINITY, true),
    ]
    expect([plain, marked]).toEqual([expect.stringMatching(/^[\w-]{39}$/), expect.stringMatching(/^[\w-]{39}$/)])
    expect(await open('task', ada, plain)).toEqual({ name: plain.slice(0, 22), expires: 1_001_000, flag: false })
    expect(await open('task', ada, marked)).toMatchObject({ expires: Number.POSITIVE_INFINITY, flag: true })
  })

  test('expires', async () => {
    const { createId, open, pass } = clocked()
    const id = await createId('task', ada, second, false)
    pass(second - 1)
    expect(await open('task', ada, id)).toBeDefined()
    pass(1)
    expect(await open('task', ada, id)).toBeUndefined()
  })

  test('is never the same twice, and neither is its name', async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, () => idOf()))
    expect(new Set(ids.map((id) => id.slice(0, 22))).size).toBe(50)
  })

  test('is unknown for another purpose, another principal and with another key', async () => {
    const id = await idOf()
    expect(await openId(id)).toBeDefined()
    expect(await openId(id, { purpose: 'state:other' })).toBeUndefined()
    expect(await openId(id, { principal: { ...ada, subject: 'bob' } })).toBeUndefined()
    expect(await openId(id, { principal: undefined })).toBeUndefined()
    expect(await openId(id, { keys: parseKeyRing(`a:${keyB}`) })).toBeUndefined()
  })

  test('is valid after its key was rotated, under any name of the key', async () => {
    expect(await openId(await idOf(), { keys: parseKeyRing(`b:${keyB},c:${keyA}`) })).toBeDefined()
  })

  test('is unknown with any one character changed', async () => {
    const id = await idOf()
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const changed = [...id].flatMap((was, at) =>
      [1, 2, 32].map((step) => {
        const other = alphabet[(alphabet.indexOf(was) + step) % 64]
        return id.slice(0, at) + other + id.slice(at + 1)
      }),
    )
    const opened = await Promise.all(changed.map((text) => openId(text)))
    expect(opened.filter((value) => value !== undefined)).toEqual([])
  })

  test('cannot be made of its name, or of a sealed text', async () => {
    const { seal } = clocked()
    const id = await idOf()
    const sealedText = (await seal('state:notes', ada, 1, second)).slice(2)
    for (const text of [id.slice(0, 22), id.slice(0, 22).padEnd(39, 'A'), sealedText.slice(0, 39)]) {
      expect(await openId(text)).toBeUndefined()
    }
  })
})

describe('a sealed text does not unseal', () => {
  test('after its expiry', async () => {
    const { seal, open, pass } = clocked()
    const text = await seal('journal', ada, 1, second)
    pass(second - 1)
    expect(await open('journal', ada, text)).toBe(1)
    pass(1)
    expect(await open('journal', ada, text)).toBeUndefined()
  })

  test('for another purpose', async () => {
    expect(await open(await sealed(), { purpose: 'session' })).toBeUndefined()
    expect(await open(await sealed(), { purpose: '' })).toBeUndefined()
  })

  test.each<[string, Principal | undefined]>([
    ['no principal', undefined],
    ['another principal', { ...ada, subject: 'bob' }],
    ['the same subject of another issuer', { ...ada, issuer: 'https://id.example.org' }],
    ['the same principal with another client', { ...ada, client: 'other' }],
    ['the same principal without a client', { issuer: ada.issuer, subject: ada.subject, scopes: [], claims: {} }],
    ['a principal whose fields join to the same text', { ...ada, issuer: `${ada.issuer}","ada`, subject: '' }],
  ])('for %s', async (_, principal) => {
    expect(await open(await sealed(), { principal })).toBeUndefined()
  })

  test('for a principal when it was sealed without one', async () => {
    const text = await clocked().seal('journal', undefined, 1, second)
    expect(await open(text)).toBeUndefined()
  })

  test('for a purpose and a principal whose concatenation is the same', async () => {
    const nobody = await clocked().seal('a\nb', undefined, 1, second)
    for (const purpose of ['a', 'a\n', 'b', 'a\nb\n'])
      expect(await open(nobody, { purpose, principal: undefined })).toBeUndefined()
  })

  test('with another key of the same id', async () => {
    expect(await open(await sealed(), { keys: parseKeyRing(`a:${keyB}`) })).toBeUndefined()
  })

  test('with the same key under another id', async () => {
    expect(await open(await sealed(), { keys: parseKeyRing(`b:${keyA}`) })).toBeUndefined()
  })

  test('with any one character changed', async () => {
    const text = await sealed()
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const changed = [...text].flatMap((was, at) => {
      const next = alphabet[(alphabet.indexOf(was) + 1) % 64] as string
      const far = alphabet[(alphabet.indexOf(was) + 32) % 64] as string
      return [next, far, '='].map((other) => text.slice(0, at) + other + text.slice(at + 1))
    })
    const opened = await Promise.all(changed.map((text) => open(text)))
    expect(changed.length).toBe(3 * text.length)
    expect(opened.filter((value) => value !== undefined)).toEqual([])
  })

  test('with any character missing, doubled or added', async () => {
    const text = await sealed()
    const changed = [...text].flatMap((character, at) => [
      text.slice(0, at) + text.slice(at + 1),
      text.slice(0, at) + character + text.slice(at),
    ])
    const others = [
      ...changed,
      ...Array.from(text, (_, at) => text.slice(0, at)),
      ` ${text}`,
      `${text} `,
      `${text}=`,
      `${text}\n`,
    ]
    const opened = await Promise.all(others.filter((other) => other !== text).map((text) => open(text)))
    expect(opened.filter((value) => value !== undefined)).toEqual([])
  })

  test.each([
    '',
    '.',
    'a',
    'a.',
    '.a',
    'a..',
    'b.AAAA',
    'a.AAAA',
    '__proto__.AAAA',
    'constructor.AAAA',
    'a.日本',
    '\0',
    `a.${'A'.repeat(100_000)}`,
  ])('when it was never sealed: %j', async (text) => {
    expect(await open(text)).toBeUndefined()
  })

  test('when it is joined from two sealed texts', async () => {
    const [one, two] = [await sealed(), await sealed()]
    expect(await open(one.slice(0, 30) + two.slice(30))).toBeUndefined()
  })
})

describe('key rotation', () => {
  const rotated = parseKeyRing(`b:${keyB},a:${keyA}`)

  test('seals with the newest key', async () => {
    expect(await sealer(rotated).seal('journal', ada, 1, second)).toMatch(/^b\./)
  })

  test('unseals with older keys', async () => {
    expect(await open(await sealed(), { keys: rotated })).toEqual({ secret: 'of ada' })
  })

  test('does not unseal with removed keys', async () => {
    expect(await open(await sealed(), { keys: parseKeyRing(`b:${keyB}`) })).toBeUndefined()
  })
})

describe('a generated key ring', () => {
  test('seals and opens', async () => {
    const { seal, open } = sealer(mintKeyRing())
    expect(await open('journal', ada, await seal('journal', ada, 1, second))).toBe(1)
  })

  test('has a new key each time, and can be written as EDGEMCP_KEYS', () => {
    const [one, two] = [mintKeyRing(), mintKeyRing()]
    expect(one).not.toEqual(two)
    expect(parseKeyRing(`${one.current}:${one.keys[one.current]}`)).toEqual(one)
  })
})

describe('the secret EDGEMCP_KEYS', () => {
  test('is parsed to key ids and keys, newest first', () => {
    expect(parseKeyRing(`new:${keyB}, old:${keyA}`)).toEqual({ current: 'new', keys: { new: keyB, old: keyA } })
    expect(parseKeyRing(`2026-07_x:${keyA}\n`).current).toBe('2026-07_x')
  })

  const password = 'hunter2-'.repeat(6).slice(0, 43)
  test.each([
    ['is empty', ''],
    ['has no name', keyA],
    ['has an empty name', `:${password}`],
    ['has a name with a dot', `a.b:${password}`],
    ['has a name with a space', `a b:${password}`],
    ['has a short key', `a:${password.slice(1)}`],
    ['has a long key', `a:${password}A`],
    ['has a key in plain base64', `a:${password.slice(1)}+`],
    ['has a padded key', `a:${password}=`],
    ['has a third part', `a:${password}:b`],
    ['has a comma too many', `a:${password},`],
    ['has one invalid key among valid ones', `a:${keyA},b:hunter2,c:${keyB}`],
    ['has one name twice', `a:${keyA},a:${password}`],
  ])('that %s is refused without repeating its value', (_, secret) => {
    let message = ''
    try {
      parseKeyRing(secret)
    } catch (thrown) {
      message = String(thrown)
    }
    expect(message).toMatch(/^Error: The secret EDGEMCP_KEYS /)
    expect(message).not.toMatch(/hunter2|AAAA/)
  })
})
