import { describe, expect, test } from 'vitest'
import type { StateAccess } from '../../worker/declarations/state.ts'
import { state } from '../../worker/plugins/state/state.ts'
import * as bounds from '../../worker/protocol/bounds.ts'

type Declare = (name: string, options: object, operations?: (store: never) => object) => unknown
const declare = state as unknown as Declare
const forever = { per: 'user', ttl: Number.POSITIVE_INFINITY }

describe('an invalid declaration is an error at startup', () => {
  test.each<[name: unknown, options: object, message: string, operations?: unknown]>([
    ['', forever, 'The state "" needs a name of 1 to 64 letters, digits, ".", "_" and "-"'],
    ['a b', forever, 'The state "a b" needs a name'],
    ['x'.repeat(65), forever, 'needs a name'],
    [
      'owner',
      { per: 'environment' },
      'The state "owner" is per "environment": use per: "session", "user", "tenant" or "handle"',
    ],
    ['symbol', { per: Symbol('user') }, 'is per Symbol(user)'],
    [Symbol('name'), forever, '"name" of state() must be a string, not Symbol(name)'],
    ['text', forever, '"operations" of state() must be a function, not "add"', 'add'],
    [
      'promise',
      forever,
      '"operations" of state() must be a function that returns a plain object of functions, not a promise',
      async () => ({ add: () => 1 }),
    ],
    [
      'values',
      forever,
      '"operations" of state() must be a function that returns a plain object of functions, not an object',
      () => ({ add: 5 }),
    ],
    ['none', {}, 'is per undefined'],
    ['session', { per: 'session', ttl: 5 }, 'The state "session" is per session and ends with it: remove ttl'],
    ['user', { per: 'user' }, 'The state "user" needs a ttl: how long to keep it after its last use, or Infinity'],
    ['zero', { per: 'tenant', ttl: 0 }, 'The state "zero" needs a ttl'],
    ['nan', { per: 'tenant', ttl: Number.NaN }, 'The ttl of the state "nan" is NaN: use milliseconds'],
    [
      'text',
      { per: 'tenant', ttl: 'a day' },
      'The ttl of the state "text" is "a day": use milliseconds, or a string such as',
    ],
    [
      'everywhere',
      { per: 'session', allEndpoints: true },
      'The state "everywhere" is per session, which only one endpoint has: remove allEndpoints',
    ],
    ['flagged', { ...forever, allEndpoints: 'yes' }, '"allEndpoints" of state() must be true or false, not "yes"'],
    ['handle', { per: 'handle' }, 'The state "handle" needs a ttl: how long its handles are valid'],
    ['eternal', { per: 'handle', ttl: Number.POSITIVE_INFINITY }, 'The state "eternal" needs a ttl'],
  ])('%s', (name, options, message, operations) => {
    const given = operations as Parameters<Declare>[2]
    expect(() => declare(name as string, options, given)).toThrow(message)
  })

  test('a name that is in use', () => {
    declare('taken', forever)
    expect(() => declare('taken', forever)).toThrow('The state "taken" is declared twice: rename one')
  })

  test('operations with reserved names, or that use the store at startup', () => {
    const named = (name: string) => () => ({ [name]: () => 1 })
    expect(() => declare('a', forever, named('deleteAll'))).toThrow(
      'The state "a" cannot have an operation "deleteAll": rename it',
    )
    expect(() => declare('b', forever, named('then'))).toThrow(
      'The state "b" cannot have an operation "then": rename it',
    )
    expect(() =>
      declare('c', forever, (store: { sql(query: string): void }) => ({ all: store.sql('SELECT 1') })),
    ).toThrow(
      'The state "c" uses its store outside an operation: use it inside operations only, because it does not exist at startup',
    )
  })
})

test('a state is stored under its owner', async () => {
  const found: string[] = []
  const access = (more: Partial<StateAccess>): StateAccess => ({
    object(name) {
      found.push(name)
      return { run: async () => ({ value: 1 }), deleteAll: async () => {} }
    },
    session: undefined,
    principal: undefined,
    identity: '["notes","/mcp"]',
    createId: async () => '',
    open: async () => undefined,
    ...more,
  })
  const person = { issuer: 'https://a.example', subject: 'ada', scopes: [], claims: {} }
  const mine = state('mine', { per: 'user', ttl: 1000 })
  for (const principal of [
    person,
    { ...person, client: 'another', scopes: ['all'], claims: { more: true } },
    { ...person, tenant: 'acme' },
    { ...person, issuer: 'https://b.example' },
    { ...person, subject: 'bob' },
  ]) {
    await mine.open(access({ principal })).get('a')
  }
  expect(found[1]).toBe(found[0])
  expect(new Set(found).size).toBe(4)
  const ours = state('ours', { per: 'tenant', ttl: 1000 })
  found.length = 0
  for (const principal of [
    { ...person, tenant: 'acme' },
    { ...person, subject: 'bob', tenant: 'acme' },
    { ...person, tenant: 'ada' },
  ]) {
    await ours.open(access({ principal })).get('a')
  }
  expect(found[1]).toBe(found[0])
  expect(new Set(found).size).toBe(2)
})

test('a handle above the maximum length is not unsealed', async () => {
  const opened: string[] = []
  const access: StateAccess = {
    object: () => {
      throw new Error('No object is asked')
    },
    session: undefined,
    principal: undefined,
    identity: '',
    createId: async () => '',
    async open(_, handle) {
      opened.push(handle)
      return undefined
    },
  }
  const carts = state('carts', { per: 'handle', ttl: '1s' })
  const unknown = { kind: 'invalid_handle' }
  await expect(carts.open(access, 'a'.repeat(bounds.handleCharacters)).get('a')).rejects.toMatchObject(unknown)
  expect(opened).toHaveLength(1)
  await expect(carts.open(access, 'a'.repeat(bounds.handleCharacters + 1)).get('a')).rejects.toMatchObject(unknown)
  expect(opened).toHaveLength(1)
})
